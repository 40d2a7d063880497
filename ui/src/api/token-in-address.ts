// A token, or a code that works once, behind the `#` of an address that the command line printed or opened: `#token=…`,
// `#code=…`. Browsers do not send that part, and it is taken out at once, so that neither history nor a shared link
// holds it. Both are exchanged for a session in the same way.

export function takeToken(): string | null {
  const found = /^#(?:token|code)=([\x21-\x7e]+)$/.exec(window.location.hash)?.[1];
  if (found === undefined) return null;
  window.history.replaceState(null, "", "#/");
  return decodeURIComponent(found);
}
