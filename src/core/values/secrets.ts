// Secrets: masks passwords in texts that are shown.
//   - secrets.1: An address is masked as text, before it is parsed: an error about a mistyped address shows
//        the address, which may still contain the password.
//   - secrets.2: In doubt the mask covers more, never less.

const MASK = "***";
const SQLITE = "sqlite:";
/**
 * `user:password@`, after a scheme with any number of slashes, or without a scheme. Extends to the last `@`.
 */
const CREDENTIALS = /^(\s*(?:[a-z][a-z0-9+.-]*:?\/+|[a-z][a-z0-9+.-]*:(?=[^@]*:))?[^:@/?#]*):.*@/is;
/** The same in the middle of a text: after a scheme with slashes, or before a host and a path. */
const CREDENTIALS_WITHIN =
  /((?:[a-z][a-z0-9+.-]*:\/+)[^\s:@/?#"']*):[^\s]*@|(\b[^\s:@/?#"']+):[^\s:]+@(?=[\w.-]+(?::\d+)?\/)/gi;
/** `password=…`, also misspelt, in a query or in a key-value DSN; and an address in a query, `perdure.listen=…`. */
const ASSIGNMENT =
  /([\w.-]*(?:pass|pwd|p\w{0,3}s\w{0,3}w|secret|token|\.listen)[\w.-]*\s*=\s*)('(?:[^'\\]|\\.)*'?|"[^"]*"?|[^\s&;"']+)/gi;

/** A store's address without its password. */
export function maskAddress(address: string): string {
  if (address.startsWith(SQLITE)) return address;
  return maskAssignments(maskCredentials(address));
}

/** A text such as an error message, without the passwords of the addresses in it. */
export function maskSecrets(text: string): string {
  const masked = text.replace(CREDENTIALS_WITHIN, (whole, withScheme?: string, bare?: string) =>
    whole.startsWith(SQLITE) ? whole : `${withScheme ?? bare ?? ""}:${MASK}@`,
  );
  return maskAssignments(masked);
}

function maskCredentials(address: string): string {
  const url = URL.parse(address);
  // "host:port" and an "@" in the query look like credentials. A well-formed URL says which of them it is.
  if (url !== null && url.password === "" && !/@/.test(url.pathname + url.hash)) {
    if (!/^[^?]*@/.test(address) || url.username !== "") return address;
  }
  return address.replace(CREDENTIALS, `$1:${MASK}@`);
}

function maskAssignments(text: string): string {
  return text.replace(ASSIGNMENT, `$1${MASK}`);
}
