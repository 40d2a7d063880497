// A token behind the `#` of the address that a command line printed: `#token=…`. Browsers do not send that part, and
// it is taken out at once, so that neither history nor a shared link holds it.

export function takeToken(): string | null {
  const found = /^#token=([\x21-\x7e]+)$/.exec(window.location.hash)?.[1];
  if (found === undefined) return null;
  window.history.replaceState(null, "", "#/");
  return decodeURIComponent(found);
}
