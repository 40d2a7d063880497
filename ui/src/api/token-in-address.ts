// Reads a token or a single-use login code from the fragment of the address: `#token=…`, `#code=…`. The
// command line prints or opens such addresses. Browsers do not send the fragment. The page removes it
// immediately, so that neither the browser's history nor a shared link contains it. Both are exchanged for a
// session in the same way.

export function takeToken(): string | null {
  const found = /^#(?:token|code)=([\x21-\x7e]+)$/.exec(window.location.hash)?.[1];
  if (found === undefined) return null;
  window.history.replaceState(null, "", "#/");
  return decodeURIComponent(found);
}
