// Address: parses a postgres:// URL before `pg` sees it.
//   - The parser removes what `pg` does not support: several hosts, `target_session_attrs`, and the options
//       of Perdure (`perdure.schema` and so on). The rest goes to `pg` unchanged.
//   - No error message contains the URL, because it may hold a password (core/values/secrets.ts).

import { PerdureError } from "../../core/errors/errors.ts";
import type { PostgresOptions } from "../options.ts";

/** The kinds of session that a connection can require, as in libpq. */
export const SESSION_KINDS = [
  "any",
  "read-write",
  "read-only",
  "primary",
  "standby",
  "prefer-standby",
] as const;
export type SessionKind = (typeof SESSION_KINDS)[number];

export interface Host {
  readonly host: string;
  readonly port: number;
}

/** The hosts to connect to. Plain data, because a thread gets a copy. */
export interface Dialing {
  /** In the order in which they are tried. Empty: there is one host, and `pg` knows it. */
  readonly hosts: readonly Host[];
  readonly session: SessionKind;
}

export interface Address {
  /** For `pg`. It names the first host only. */
  readonly connectionString: string;
  readonly dialing: Dialing;
  /** The `perdure.…` parameters of the URL. */
  readonly options: PostgresOptions;
}

const PREFIX = /^postgres(?:ql)?:\/\//;
const OWN = "perdure.";
const SESSION = "target_session_attrs";
const HOST = /^(\[[^\][]+\]|[^:[\]]*)(?::(\d*))?$/;
const DEFAULT_PORT = 5432;

export function parseAddress(url: string): Address {
  if (!PREFIX.test(url)) {
    throw unfit("an address must begin with postgres://, such as postgres://user@host/database");
  }
  const prefix = "postgres://";
  const [, authority = "", path = "", query = "", hash] =
    /^([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?(#.*)?$/s.exec(url.replace(PREFIX, "")) ?? [];
  const pairs = query === "" ? [] : query.split("&");
  if (hash !== undefined || path.includes("@") || pairs.some((pair) => /^[^=]*@/.test(pair))) {
    const how = "write / as %2F, ? as %3F, # as %23 and @ as %40";
    throw unfit(`the address has an @ or # after the host. In a user name or password ${how}`);
  }
  const at = authority.lastIndexOf("@") + 1;
  const user = authority.slice(0, at);
  const params = new URLSearchParams(query);
  const hosts = hostsOf(authority.slice(at), params);
  const remaining = pairs.filter((pair) => !isOurs(pair, hosts.length > 1));
  const first = hosts.length > 1 ? bracketed(hosts[0]) : authority.slice(at);
  const rest = remaining.length === 0 ? "" : `?${remaining.join("&")}`;
  const connectionString = `${prefix}${user}${first}${path}${rest}`;
  checkUrl(connectionString);
  return {
    connectionString,
    dialing: { hosts: hosts.length > 1 ? hosts : [], session: sessionOf(params) },
    options: optionsOf(params),
  };
}

/** The hosts of the URL, or of its parameters `host` and `port`. Each may be a list. */
function hostsOf(authority: string, params: URLSearchParams): readonly Host[] {
  const named = params.get("host");
  const list = (named ?? authority).split(",");
  if (list.length < 2) return [];
  const ports = params.get("port")?.split(",") ?? [];
  if (ports.length > 1 && ports.length !== list.length) {
    throw unfit(`the address has ${list.length} hosts and ${ports.length} ports`);
  }
  return list.map((text, index) => {
    if (text.startsWith("/") && named !== null) return { host: text, port: portOf(ports, index) };
    const [, host = "", port = ""] = HOST.exec(text) ?? [];
    if (host === "") throw unfit("a host of the address is empty or cannot be read");
    const bare = decodeURIComponent(host.replace(/^\[(.*)\]$/, "$1"));
    return { host: bare, port: port === "" ? portOf(ports, index) : portNumber(port) };
  });
}

function portOf(ports: readonly string[], index: number): number {
  const port = ports[index] ?? ports[0] ?? process.env["PGPORT"] ?? "";
  return port === "" ? DEFAULT_PORT : portNumber(port);
}

function portNumber(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw unfit("a port must be a number from 1 to 65535"); // without the text: it may be a password
}

function bracketed(first: Host | undefined): string {
  if (first === undefined || first.host.startsWith("/")) return "localhost"; // `setHost` replaces it
  const host = first.host.includes(":") ? `[${first.host}]` : encodeURIComponent(first.host);
  return `${host}:${first.port}`;
}

function isOurs(pair: string, isList: boolean): boolean {
  const [name = ""] = pair.split("=");
  const known = decodeURIComponent(name);
  if (known.startsWith(OWN) || known === SESSION) return true;
  return isList && (known === "host" || known === "port");
}

function checkUrl(text: string): void {
  try {
    // Like `pg`: the host may be missing.
    const url = new URL(
      text.replace("@/", "@host/").replace(/^(postgres:\/\/)([/?]|$)/, "$1host$2"),
    );
    for (const part of [url.username, url.password, url.pathname]) decodeURIComponent(part);
  } catch {
    throw unfit("the address is not a valid URL: check the port, and that % is written as %25");
  }
}

function sessionOf(params: URLSearchParams): SessionKind {
  const given = params.get(SESSION) ?? "any";
  const found = SESSION_KINDS.find((kind) => kind === given);
  if (found !== undefined) return found;
  throw unfit(`${SESSION} must be one of ${SESSION_KINDS.join(", ")}; got "${given}"`);
}

type Reader = (text: string, name: string) => unknown;
const asText: Reader = (text) => text;
const asNumber: Reader = (text, name) => {
  if (/^\d+$/.test(text)) return Number(text);
  throw unfit(`${OWN}${name} must be a whole number; got "${text}"`);
};
const asFlag: Reader = (text, name) => {
  if (["on", "true", "1"].includes(text)) return true;
  if (["off", "false", "0"].includes(text)) return false;
  throw unfit(`${OWN}${name} must be on or off; got "${text}"`);
};

/** Readers of the options that a URL can hold. options.ts checks their values. */
const READERS: { readonly [Name in Exclude<keyof PostgresOptions, "environment">]-?: Reader } = {
  schema: asText,
  migrate: asText,
  durability: asText,
  notifications: asFlag,
  listen: asText,
  prepare: asFlag,
  readOnly: asFlag,
  poolSize: asNumber,
  transactionPoolSize: asNumber,
  answerMs: asNumber,
};

function optionsOf(params: URLSearchParams): PostgresOptions {
  const options: Record<string, unknown> = {};
  for (const [key, value] of params) {
    if (!key.startsWith(OWN)) continue;
    const name = key.slice(OWN.length);
    const read = Object.entries(READERS).find(([known]) => known === name)?.[1];
    if (read === undefined) {
      const known = Object.keys(READERS).map((each) => OWN + each);
      throw unfit(`unknown option "${key}"; the options of an address are ${known.join(", ")}`);
    }
    if (Object.hasOwn(options, name)) throw unfit(`the address has ${key} twice`);
    options[name] = read(value, name);
  }
  return options;
}

function unfit(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `The PostgreSQL address is not valid: ${why}.`);
}
