// Secrets: how text that may hold a password is shown.
//   SR1. An address is masked as it was given, before anything parses it: a mistyped one is shown in an error, and it
//        may hold the password just the same.
//   SR2. In doubt more is masked, never less.

const MASK = "***";
const SQLITE = "sqlite:";
/** `user:password@`, behind a scheme with any number of slashes, or without a scheme. To the last `@`. */
const CREDENTIALS = /^(\s*(?:[a-z][a-z0-9+.-]*:?\/+|[a-z][a-z0-9+.-]*:(?=[^@]*:))?[^:@/?#]*):.*@/is;
/** The same in the middle of a text: a scheme with slashes, or a host and a path behind the `@`. */
const CREDENTIALS_WITHIN =
  /((?:[a-z][a-z0-9+.-]*:\/+)[^\s:@/?#"']*):[^\s]*@|(\b[^\s:@/?#"']+):[^\s:]+@(?=[\w.-]+(?::\d+)?\/)/gi;
/** `password=…`, spelt wrongly too, between the parts of a query or of a key-value DSN. */
const ASSIGNMENT =
  /([\w.-]*(?:pass|pwd|p\w{0,3}s\w{0,3}w|secret|token)[\w.-]*\s*=\s*)('(?:[^'\\]|\\.)*'?|"[^"]*"?|[^\s&;"']+)/gi;

/** A store's address without its password. */
export function maskAddress(address: string): string {
  if (address.startsWith(SQLITE)) return address;
  return maskAssignments(maskCredentials(address));
}

/** A text for people, such as an error's message, without passwords of addresses in it. */
export function maskSecrets(text: string): string {
  const masked = text.replace(CREDENTIALS_WITHIN, (whole, withScheme?: string, bare?: string) =>
    whole.startsWith(SQLITE) ? whole : `${withScheme ?? bare ?? ""}:${MASK}@`,
  );
  return maskAssignments(masked);
}

function maskCredentials(address: string): string {
  const url = URL.parse(address);
  // A host:port and an "@" in the query look like credentials; a URL that is well-formed says which it is.
  if (url !== null && url.password === "" && !/@/.test(url.pathname + url.hash)) {
    if (!/^[^?]*@/.test(address) || url.username !== "") return address;
  }
  return address.replace(CREDENTIALS, `$1:${MASK}@`);
}

function maskAssignments(text: string): string {
  return text.replace(ASSIGNMENT, `$1${MASK}`);
}
