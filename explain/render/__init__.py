"""One file a format. Renderers are pure: a `Report` in, text or bytes out; they import only the model."""
