// Dialing: how a connection is made when the address has several hosts or asks for a kind of session.
//   - dial.1: Every new connection tries the hosts in order and uses the first one that answers with the
//       right kind of session, as libpq does. So a pool follows a failover: broken connections are replaced
//       by connections to the new primary.
//   - A `pg` client can connect only once. With several hosts, a short probe connection finds the host
//       first. The client then connects to that host, and its session is checked again.
//   - dial.2: With one host and any kind of session, the client class of `pg` is used unchanged.

import type pg from "pg";
import { PerdureError, errorMessage } from "../../core/errors/errors.ts";
import type { Dialing, Host, SessionKind } from "./address.ts";

/** Whether the session is read-only, and whether the server is a standby. */
const SHOW_SESSION = `
  SELECT current_setting('transaction_read_only') = 'on' AS read_only, pg_is_in_recovery() AS standby`;

/** The type of the callback in `pg`: called with an error alone, or with null and the client. */
type ConnectCallback = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/**
 * The timeout of a whole connect if each attempt may take `eachMs`: a probe per host, then the real
 * connection.
 */
export function dialMs({ hosts }: Dialing, eachMs: number): number {
  return eachMs * (hosts.length + 1);
}

/** The client class for a pool or for a single connection. */
export function clientClass(driver: typeof pg, dialing: Dialing): typeof pg.Client {
  const { hosts, session } = dialing;
  if (hosts.length === 0 && session === "any") return driver.Client; // dial.2
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
      const found =
        hosts.length === 0 ? null : await firstFittingHost(driver, this.#config, dialing);
      if (found !== null) setHost(this, found);
      await super.connect();
      const wanted = session === "prefer-standby" ? "any" : session;
      if (wanted === "any" || (await isFit(this, wanted))) return this;
      await this.end();
      throw noHostFits(session, [`the session is not ${session}`]);
    }
  };
}

/** dial.1 */
async function firstFittingHost(
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
      const reason = await whyUnfit(driver, { ...config, ...timing, ...host }, wanted);
      if (reason === null) return host;
      reasons.push(`${host.host}:${host.port} ${reason}`);
    }
  }
  throw noHostFits(session, reasons);
}

/** Why a host does not fit; null if it fits. */
async function whyUnfit(
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
    return errorMessage(error);
  } finally {
    void probe.end().catch(() => undefined);
  }
}

async function isFit(client: pg.Client, wanted: SessionKind): Promise<boolean> {
  if (wanted === "any") return true;
  const { rows } = await client.query<{ read_only: boolean; standby: boolean }>(SHOW_SESSION);
  const { read_only: isReadOnly = true, standby: isStandby = true } = rows[0] ?? {};
  if (wanted === "read-write") return !isReadOnly;
  if (wanted === "read-only") return isReadOnly;
  return wanted === "primary" ? !isStandby : isStandby;
}

/**
 * Sets the host that `connect` uses. In the configuration a connection string would win over `host` and
 * `port`.
 */
function setHost(client: pg.Client, { host, port }: Host): void {
  Object.assign(client, { host, port });
}

function noHostFits(session: SessionKind, reasons: readonly string[]): PerdureError {
  const what = session === "any" ? "answers" : `is ${session}`;
  const message = `No host of the PostgreSQL address ${what}: ${reasons.join("; ")}.`;
  return new PerdureError("STORE_UNAVAILABLE", message);
}
