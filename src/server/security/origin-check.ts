// Checks which pages may send requests: only the server's own pages and those in `origins`.
//   - Host: must be an IP address, a name of this machine, or listed in `hosts`. This prevents DNS
//        rebinding (S12). A listed name without a port is valid for all ports.
//   - Origin: if the browser sends one, it must be the server's own or listed in `origins` (S10, S11,
//        S13).
//   - origin-check.1: A change with a session cookie must have an Origin header. Browsers always send one;
//        other clients use a token.
//   - No answer has a CORS header.

import { Refusal } from "../http/problems.ts";
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
    "The server does not accept this host name; add it to the option `hosts`.",
  );
}

/** Runs before any other work for an API request. */
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
    throw new Refusal("ORIGIN_REFUSED", "A change with a session cookie needs an Origin header.");
  }
}
