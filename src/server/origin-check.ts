// Which pages may talk to the server: its own, and no other.
//   OR1. Host: the name is an address, this machine, or listed in `hosts`; else a page of another site could have
//        bent its own name to our address (DNS rebinding, S12). A listed name without a port stands for all ports.
//   OR2. Origin: where a browser names one, it is the server's own or listed in `origins` (S10, S11, S13).
//   OR3. A change that is asked for by cookie names an origin: browsers always do, so that whoever does not is
//        none, and has a token.
//   OR4. No answer ever carries a CORS header.

import { Refusal } from "./problems.ts";
import { checkHostOption, isAddress, isLoopback, type RequestFacts } from "./request-facts.ts";

export interface OriginRules {
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
}

export function originRules(hosts: readonly string[], origins: readonly string[]): OriginRules {
  return {
    hosts: new Set(hosts.map(checkHostOption)),
    origins: new Set(origins.map((origin) => URL.parse(origin)?.origin ?? origin)),
  };
}

export function checkHost({ host, hostname }: RequestFacts, { hosts }: OriginRules): void {
  if (isAddress(hostname) || isLoopback(hostname) || hostname.endsWith(".localhost")) return;
  if (hosts.has(host) || hosts.has(hostname)) return;
  throw new Refusal(
    "HOST_REFUSED",
    "The server does not answer for this host name; list it in `hosts`.",
  );
}

/** Before anything is done for a request to the API. */
export function checkOrigin(
  request: Request,
  { host }: RequestFacts,
  { origins }: OriginRules,
): void {
  const origin = request.headers.get("origin");
  const site = request.headers.get("sec-fetch-site");
  if (origin !== null) {
    if (origins.has(origin) || URL.parse(origin)?.host === host) return;
    throw new Refusal("ORIGIN_REFUSED");
  }
  if (site !== null && site !== "same-origin" && site !== "none") {
    throw new Refusal("ORIGIN_REFUSED");
  }
  const isChange = request.method !== "GET" && request.method !== "HEAD";
  if (isChange && site === null && request.headers.has("cookie")) {
    throw new Refusal("ORIGIN_REFUSED", "A change by cookie needs an Origin header.");
  }
}
