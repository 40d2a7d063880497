// The IP address of the client.
//   - `X-Forwarded-For` is used only if a proxy is trusted; otherwise it is ignored (S34).

/** `environment`: what the Node listener passes. "unknown" if it does not contain the request of Node. */
export function peerAddress(headers: Headers, environment: unknown, trustProxy: boolean): string {
  const forwarded = trustProxy ? lastValue(headers.get("x-forwarded-for")) : undefined;
  return forwarded ?? socketAddress(environment) ?? "unknown";
}

/** The last value, which the nearest proxy added. Earlier values come from the client and are not trusted. */
export function lastValue(header: string | null): string | undefined {
  const last = header?.split(",").at(-1)?.trim();
  return last === "" ? undefined : last;
}

/** The address of the socket. The Node listener passes its request in `environment`. */
function socketAddress(environment: unknown): string | undefined {
  if (typeof environment !== "object" || environment === null) return undefined;
  const { incoming } = environment as { incoming?: { socket?: { remoteAddress?: unknown } } };
  const address = incoming?.socket?.remoteAddress;
  return typeof address === "string" ? address : undefined;
}
