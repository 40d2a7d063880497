// The origin of a request: host, port, protocol and IP address.
//   - `X-Forwarded-*` headers are used only with the option `trustProxy`; otherwise they are ignored (S34).

import { PerdureError } from "../../core/errors/errors.ts";
import { lastValue, peerAddress } from "../../callback/http/peer-address.ts";
import { Refusal } from "../http/problems.ts";

export interface RequestFacts {
  /** Host name and port as the browser sees them, in lower case. */
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly https: boolean;
  /** The client's IP address. "unknown" if the host environment does not provide it. */
  readonly address: string;
}

export function factsOf(request: Request, environment: unknown, trustProxy: boolean): RequestFacts {
  const { headers } = request;
  const url = new URL(request.url);
  const forwardedHost = trustProxy ? lastValue(headers.get("x-forwarded-host")) : undefined;
  const proto = trustProxy ? lastValue(headers.get("x-forwarded-proto")) : undefined;
  const named = parseHost(forwardedHost ?? headers.get("host") ?? url.host);
  // A request line with an absolute URL can name another host than the Host header.
  if (forwardedHost === undefined && url.host !== named.host) throw new Refusal("HOST_REFUSED");
  const https = proto === undefined ? url.protocol === "https:" : proto === "https";
  return {
    host: named.host,
    hostname: named.hostname,
    port: named.port === "" ? (https ? "443" : "80") : named.port,
    https,
    address: peerAddress(headers, environment, trustProxy),
  };
}

/** Whether the name can only mean this machine. */
export function isLoopback(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname === "[::1]" ||
    hostname === "::1" ||
    /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname)
  );
}

/** Whether it is an IP address. DNS cannot redirect an IP address. */
export function isAddress(hostname: string): boolean {
  return hostname.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}$/.test(hostname);
}

/** Normalizes a host from the option `hosts` or from a header. */
function parseHost(host: string): { host: string; hostname: string; port: string } {
  const parsed = /^[^\s/?#@\\]+$/.test(host) ? URL.parse(`http://${host}`) : null;
  if (parsed === null) throw new Refusal("HOST_REFUSED");
  return { host: parsed.host, hostname: parsed.hostname, port: parsed.port };
}

export function checkHostOption(host: string): string {
  try {
    return parseHost(host).host;
  } catch {
    throw new PerdureError("INVALID_ARGUMENT", `hosts must contain host names; got "${host}".`);
  }
}
