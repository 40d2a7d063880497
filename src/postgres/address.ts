// Address: a postgres:// URL, taken apart before the driver sees it.
//   AD1. What `pg` cannot do is taken out of the URL: several hosts, `target_session_attrs`, and Perdure's own options
//        (`perdure.schema` and so on). The rest goes to `pg` as it is.
//   AD2. No message repeats the URL: it may hold a password (core/secrets.ts).

import { PerdureError } from "../core/errors.ts";
import type { PostgresOptions } from "./options.ts";

/** Which kind of session a connection must be, as in libpq. */
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

/** Where connections are made to. Plain data: a thread gets a copy. */
export interface Dialing {
  /** In the order in which they are tried. Empty: one host, which `pg` knows. */
  readonly hosts: readonly Host[];
  readonly session: SessionKind;
}

export interface Address {
  /** For `pg`; it names the first host alone. */
  readonly connectionString: string;
  readonly dialing: Dialing;
  /** What the URL says with `perdure.…`. */
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
    throw unfit(`the address has an @ or # behind the host. In a user name or password ${how}`);
  }
  const at = authority.lastIndexOf("@") + 1;
  const user = authority.slice(0, at);
  const params = new URLSearchParams(query);
  const hosts = hostsOf(authority.slice(at), params);
  const kept = pairs.filter((pair) => !isOurs(pair, hosts.length > 1));
  const first = hosts.length > 1 ? bracketed(hosts[0]) : authority.slice(at);
  const rest = kept.length === 0 ? "" : `?${kept.join("&")}`;
  const connectionString = `${prefix}${user}${first}${path}${rest}`;
  checkUrl(connectionString);
  return {
    connectionString,
    dialing: { hosts: hosts.length > 1 ? hosts : [], session: sessionOf(params) },
    options: optionsOf(params),
  };
}

/** Hosts of the URL, or of its parameters `host` and `port`; each may be a list. */
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
  throw unfit("a port of the address is not a number from 1 to 65535");
}

function bracketed(first: Host | undefined): string {
  if (first === undefined || first.host.startsWith("/")) return "localhost"; // replaced when it connects
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
    // As pg does: an address may leave its host out.
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
  throw unfit(`${SESSION} must be one of ${SESSION_KINDS.join(", ")}`);
}

type Reader = (text: string, name: string) => unknown;
const asText: Reader = (text) => text;
const asNumber: Reader = (text, name) => {
  if (/^\d+$/.test(text)) return Number(text);
  throw unfit(`${OWN}${name} must be a whole number`);
};
const asFlag: Reader = (text, name) => {
  if (["on", "true", "1"].includes(text)) return true;
  if (["off", "false", "0"].includes(text)) return false;
  throw unfit(`${OWN}${name} must be on or off`);
};

/** The options that a text can hold. What they may be is checked where all options are (options.ts). */
const READERS: { readonly [Name in Exclude<keyof PostgresOptions, "environment">]-?: Reader } = {
  schema: asText,
  migrate: asText,
  durability: asText,
  notifications: asFlag,
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
