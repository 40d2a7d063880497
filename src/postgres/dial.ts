// Dial: how a connection is made where there are several hosts, or a kind of session is asked for.
//   DI1. Every new connection tries the hosts in order and takes the first that answers with the right kind of session,
//        as libpq does. So a pool follows a failover by itself: broken connections are replaced on the new primary.
//   DI2. A client of `pg` connects once. With several hosts the host is found by a short connection of its own; the
//        client then connects there, and its own session is checked again.
//   DI3. Where one host is enough and every session will do, `pg`'s own client is used.

import type pg from "pg";
import { PerdureError } from "../core/errors.ts";
import type { Dialing, Host, SessionKind } from "./address.ts";

/** `in_hot_standby` is a setting since PostgreSQL 14, the oldest that is supported. */
const SHOW_SESSION = `
  SELECT current_setting('transaction_read_only') = 'on' AS read_only, pg_is_in_recovery() AS standby`;

/** As the types of `pg` have it; an error comes alone, a client behind null. */
type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** How long a whole connect may take, where each host may take so long: each is tried, and one is connected to. */
export function dialMs({ hosts }: Dialing, eachMs: number): number {
  return eachMs * (hosts.length + 1);
}

/** The class that a pool, or whoever needs one connection, makes clients of. */
export function clientClass(driver: typeof pg, dialing: Dialing): typeof pg.Client {
  const { hosts, session } = dialing;
  if (hosts.length === 0 && session === "any") return driver.Client; // DI3
  return class extends driver.Client {
    readonly #config: pg.ClientConfig;

    constructor(config?: string | pg.ClientConfig) {
      super(config);
      this.#config = typeof config === "object" ? config : {};
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      const connected = this.#connect();
      if (callback === undefined) return connected;
      connected.then(
        () => (callback as (error: null, client: pg.Client) => void)(null, this),
        (error: unknown) =>
          (callback as (error: Error) => void)(
            error instanceof Error ? error : new Error(String(error)),
          ),
      );
      return undefined;
    }

    async #connect(): Promise<pg.Client> {
      const found = hosts.length === 0 ? null : await firstFit(driver, this.#config, dialing);
      if (found !== null) setHost(this, found);
      await super.connect();
      const wanted = session === "prefer-standby" ? "any" : session;
      if (wanted === "any" || (await isFit(this, wanted))) return this;
      await this.end();
      throw noneFits(session, ["the session is of another kind"]);
    }
  };
}

/** DI1 */
async function firstFit(
  driver: typeof pg,
  config: pg.ClientConfig,
  { hosts, session }: Dialing,
): Promise<Host> {
  const reasons: string[] = [];
  const rounds: readonly SessionKind[] =
    session === "prefer-standby" ? ["standby", "any"] : [session];
  const { connectionTimeoutMillis: allMs = 0 } = config;
  const timing = { connectionTimeoutMillis: allMs / dialMs({ hosts, session }, 1) };
  for (const wanted of rounds) {
    for (const host of hosts) {
      const reason = await reasonAgainst(driver, { ...config, ...timing, ...host }, wanted);
      if (reason === null) return host;
      reasons.push(`${host.host}:${host.port} ${reason}`);
    }
  }
  throw noneFits(session, reasons);
}

/** Why a host is not taken; null: it is. */
async function reasonAgainst(
  driver: typeof pg,
  config: pg.ClientConfig & Host,
  wanted: SessionKind,
): Promise<string | null> {
  const probe = new driver.Client(config);
  probe.on("error", () => undefined);
  setHost(probe, config);
  try {
    await probe.connect();
    return (await isFit(probe, wanted)) ? null : `is not ${wanted}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    void probe.end().catch(() => undefined);
  }
}

async function isFit(client: pg.Client, wanted: SessionKind): Promise<boolean> {
  if (wanted === "any") return true;
  const { rows } = await client.query<{ read_only: boolean; standby: boolean }>(SHOW_SESSION);
  const { read_only: isReadOnly, standby: isStandby } = rows[0] ?? {
    read_only: true,
    standby: true,
  };
  switch (wanted) {
    case "read-write":
      return !isReadOnly;
    case "read-only":
      return isReadOnly;
    case "primary":
      return !isStandby;
    case "standby":
    case "prefer-standby":
      return isStandby;
  }
}

/** Where `connect` goes; a connection string would win over `host` and `port` of the configuration. */
function setHost(client: pg.Client, { host, port }: Host): void {
  Object.assign(client, { host, port });
}

function noneFits(session: SessionKind, reasons: readonly string[]): PerdureError {
  const what = session === "any" ? "answers" : `is ${session}`;
  const message = `No host of the PostgreSQL address ${what}: ${reasons.join("; ")}.`;
  return new PerdureError("STORE_UNAVAILABLE", message);
}
