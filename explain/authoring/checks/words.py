"""Words that checks of prose go by."""

from __future__ import annotations

_VERBS = """
abort accept activate add adjust align allocate allow alter answer append apply ask assign attach
attribute avoid await back backport bake balance begin bind block bookmark boot break bring build bump
bundle bypass cache calculate call cancel cap capture carry catch change charge chart check choose chown
clean clear click clip clone close collect combine commit compare compile complete compute configure
confirm connect consider constrain consult contact contain continue convert copy correct count cover
create cross-check cut deactivate debug decide declare decouple decrease deduplicate default defer define
defragment delay delete deliver demangle deny deploy derive describe detach determine diagnose diff
disable discard disconnect discover divide do double downgrade download downsize drain drive drop dump
duplicate edit eliminate empty enable encode end enforce enlarge enter erase escalate escape estimate
evaluate evict examine exchange exclude exec execute exempt exit expand expect export expose extend
extract fall feed fence fetch fill filter find finish fit fix flash flatten flip flush follow force
format free freeze gather generate get give go grant group grow guard halve hand handle hardcode hide
hold identify ignore import improve include increase inform initialise initialize inject inline insert
inspect install invoke isolate join keep kill know label launch lay leave lengthen let lift limit link
list load locate lock log look loosen lower make map mark mask match measure merge migrate mind mirror
modify monitor mount move multiply mute name narrow normalise normalize note notify obtain offload omit
open opt order overlap override overwrite pack pad pair parse pass paste patch pause permit pick pin
place plan point poll populate post power pre-build pre-compile pre-download prebuild precompile
predownload prefer prefix preload prepare prepend preprocess preserve press prevent prewarm print
prioritise prioritize probe produce profile protect prove provide provision prune publish pull purge push
put quantise quantize query quit quote raise rank rate-limit re-apply re-create re-download re-encode
re-export re-install re-quantise re-quantize re-read re-run re-save re-upload reach read reapply rebase
reboot rebuild recalibrate recheck recompile reconfigure reconnect recreate redeploy redirect redownload
reduce refer refetch refresh regenerate register reinstall reinstate reject relaunch relax release reload
relocate rely remap remember remount remove rename reorder repack repair repeat replace replay repoint
report reproduce repull request require reread rerun resave reseat resend reserve reset reshard resize
resolve respect restart restore restrict resubmit resume retrain retry return reuse revert review revoke
rewrite roll rotate round route run sanitise sanitize save scale scan schedule search see select send
separate serialise serialize serve set shard share shift ship shorten show shrink shut sign silence
simplify size skip slow soften sort source specify spell split spread stagger start state stay stick stop
store stream stretch strip submit subscribe substitute subtract suggest sum supply support suppress
suspect swap switch symlink sync tag tail take target tell terminate test throttle tie tighten time
tolerate trace track trade train transfer translate treat trigger trim triple truncate trust try tune
turn type unblock undo uninstall unload unlock unmount unpack unpin unset untangle untar update upgrade
upload upsize use validate vary verify view wait walk want warm warm-up watch whitelist widen wipe wire
work wrap write zero
"""

VERBS = frozenset(_VERBS.split())
"""Imperatives that solutions start with."""

VAGUE = (
    "ensure that your environment",
    "make sure your environment",
    "properly configured",
    "correctly configured",
    "properly installed",
    "as appropriate",
    "if appropriate",
    "as needed",
    "and so on",
    "etc.",
    "various reasons",
    "some reason",
    "something went wrong",
    "contact support",
    "consult the documentation",
    "refer to the documentation",
    "check the documentation",
    "see the documentation",
    "check the logs for more",
    "double-check your",
    "a suitable value",
    "an appropriate value",
    "the appropriate",
    "best practices",
    "it is recommended",
    "it is important to",
    "please ",
    "simply ",
)
"""Phrases that fill a sentence and help nobody."""
