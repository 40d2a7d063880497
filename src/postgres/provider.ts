// The PostgreSQL provider: implements the storage contract. Each call goes to the object that owns its
// subject.
//   - Every write is one transaction at READ COMMITTED. A transaction that decides by a row holds that
//       row's lock.
//   - The store's clock is the server's clock. With a custom environment it is the environment's clock
//       (I3).

import { extname } from "node:path";
import type { Environment } from "../core/time/environment.ts";
import type { CommitItem, CommitResult } from "../core/provider/commit.ts";
import type { KeptRecords, KeptRequest } from "../core/provider/kept.ts";
import type { EventsPage, EventsRequest, Message } from "../core/provider/messages.ts";
import type {
  LivenessThread,
  LivenessThreadOptions,
  NextDue,
  NextDueRequest,
  RuntimeRegistration,
} from "../core/provider/runtimes.ts";
import type { TransferStore } from "../core/provider/transfer.ts";
import { systemEnvironment } from "../core/time/system-environment.ts";
import { LivenessThreads } from "../liveness/liveness-threads.ts";
import { SqlProvider } from "../sql/provider.ts";
import type { Scope } from "../sql/script/scope.ts";
import { Connection } from "./connection/connection.ts";
import type { InspectOptions, ServerInspection } from "./read/inspection.ts";
import { toOpenError } from "./connection/errors.ts";
import { isPool, locationOf, type PostgresTarget } from "./connection/location.ts";
import { settingsOf, type PostgresOptions } from "./options.ts";
import { assemble } from "./assemble.ts";
import { describeDurability } from "./connection/settings.ts";
import { Store } from "./connection/store.ts";
import type { StoreAddress } from "./liveness-thread.ts";
import { Transfer } from "../sql/admin/transfer.ts";
import { transferParts } from "./admin/transfer.ts";

// The thread's file is next to this one, with the same extension: .ts in the sources, .js in the package.
const THREAD = new URL(`./liveness-thread${extname(import.meta.url)}`, import.meta.url);

const SHARED = `PostgreSQL is reached through a pooler that shares connections between transactions, such as PgBouncer \
in transaction mode. Perdure continues without prepared statements and finds the work of other processes by polling. Give \
the direct address of the database as listen, or as perdure.listen in the address, to be notified at once. If polling is \
enough, open the store with notifications: false, or add perdure.notifications=off to its address.`;

/** A store in PostgreSQL, for many processes on many machines. */
export class PostgresProvider extends SqlProvider<Scope> {
  readonly name = "postgres";
  readonly transactions = "asynchronous";
  readonly durability: string;
  readonly environment: Environment;
  readonly isRemote = true;
  /**
   * Absent if a thread could not connect (a pool of the caller) and for an environment with another clock.
   */
  readonly startLivenessThread?: (options: LivenessThreadOptions) => LivenessThread;
  readonly transfer: TransferStore;
  readonly #store: Store;
  readonly #connection: Connection;
  readonly #livenessThreads: LivenessThreads;
  readonly #parts: ReturnType<typeof assemble>;

  /** Opens the store in a database, given its URL, a configuration of `pg`, or the caller's pool. */
  static async open(
    target: PostgresTarget,
    options: PostgresOptions = {},
  ): Promise<PostgresProvider> {
    const { store, settings, schema } = await openStore(target, options);
    const { environment = systemEnvironment, answerMs, notifications, readOnly } = settings;
    const { pool, facts } = store;
    const { commit, timeouts } = facts;
    const prepare = settings.prepare ?? (notifications && !facts.isShared);
    const how = { environment, schema, commit, timeouts, prepare, answerMs, readOnly };
    const provider = new PostgresProvider(store, new Connection(pool, how), settings);
    try {
      await provider.peek({ owner: "" }); // reads the clock, and fails if the role may not read the tables
      if (notifications && !facts.isStandby) await provider.#listen(answerMs);
      return provider;
    } catch (error) {
      await provider.close();
      throw toOpenError(error);
    }
  }

  /**
   * Creates or upgrades the tables. Roles that may not do so then open the store with `migrate: "verify"`.
   */
  static async migrate(target: PostgresTarget, options: PostgresOptions = {}): Promise<void> {
    const { store } = await openStore(target, { ...options, migrate: "apply", readOnly: false });
    await store.close();
  }

  private constructor(
    store: Store,
    connection: Connection,
    { durability, readOnly }: Pick<Required<PostgresOptions>, "durability" | "readOnly">,
  ) {
    const parts = assemble(connection, store.forSteps);
    super(parts);
    const { environment, schema } = connection;
    this.environment = environment;
    this.durability = describeDurability(durability, store.facts.commit);
    this.#store = store;
    this.#connection = connection;
    this.#parts = parts;
    const { outbox, notifier } = parts;
    // If draining fails, polling finds the arrivals later.
    notifier.whenOutboxFilled(() => void outbox.drainAll().catch(() => undefined));
    this.transfer = new Transfer(parts.scripts, transferParts(connection, outbox));
    this.#livenessThreads = new LivenessThreads(environment);
    connection.whenShared(() => this.#noticeShared());
    const { connecting } = store;
    if (connecting === null || readOnly || environment !== systemEnvironment) return;
    if (isCloneable(connecting.config)) {
      this.startLivenessThread = (options) =>
        this.#startLivenessThread(options, { ...connecting, schema });
    }
  }

  /**
   * Reads the server's settings, for checks such as `perdure doctor`. Needs only the rights of the store's
   * role.
   */
  inspect(options: InspectOptions = {}): Promise<ServerInspection> {
    const { pool, connecting, forSteps } = this.#store;
    // Perdure's pool is not all: steps, the listener and the liveness thread have connections too.
    const others = connecting === null ? 0 : forSteps.count + 2;
    return this.#parts.inspections.inspect(pool.options.max + others, options);
  }

  now(): number {
    return this.#connection.now();
  }

  override async settle(item: CommitItem): Promise<CommitResult | null> {
    await this.#connection.fenceLostWrites(); // outcome-recovery.1
    return super.settle(item);
  }

  override async readInbox(key: number): Promise<readonly Message[]> {
    if (!this.#connection.isReadOnly) await this.#parts.outbox.settle();
    return super.readInbox(key);
  }

  override async readKept(request: KeptRequest): Promise<KeptRecords> {
    if (!this.#connection.isReadOnly) await this.#parts.outbox.settle();
    return super.readKept(request);
  }

  override async readEvents(request: EventsRequest): Promise<EventsPage> {
    await this.#parts.outbox.settle();
    return super.readEvents(request);
  }

  override async nextDue(request: NextDueRequest): Promise<NextDue> {
    const askedAt = this.environment.monotonic();
    const next = await super.nextDue(request);
    this.#connection.clock.addSample(next.now, askedAt);
    return next;
  }

  override registerRuntime(registration: RuntimeRegistration): Promise<void> {
    this.#parts.notifier.serves(registration.id, {});
    return super.registerRuntime(registration);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#livenessThreads.stop();
    this.#connection.close();
    await this.#store.close();
  }

  async #listen(answerMs: number): Promise<void> {
    const { notifier } = this.#parts;
    const { facts, listensDirectly } = this.#store;
    notifier.notifyOthers();
    if (listensDirectly) return notifier.listenElsewhere(this.#store, answerMs);
    if (facts.isShared) return this.#noticeShared();
    await notifier.listen(this.#store);
  }

  /** Behind a pooler that shares connections, LISTEN does not work, except at a separate address. */
  #noticeShared(): void {
    if (this.#store.listensDirectly) return;
    this.#parts.notifier.stopListening(); // from now on the store polls
    process.emitWarning(SHARED, "PerdureWarning");
  }

  #startLivenessThread(options: LivenessThreadOptions, address: StoreAddress): LivenessThread {
    this.#connection.assertOpen();
    return this.#livenessThreads.start(THREAD, options, address);
  }
}

async function openStore(target: PostgresTarget, options: PostgresOptions) {
  const location = isPool(target) ? target : locationOf(target);
  const ofAddress = "config" in location ? location.options : {};
  const { settings, schema } = settingsOf(options, ofAddress);
  const store = await Store.open(location, { ...settings, name: settings.schema, schema });
  return { store, settings, schema };
}

/**
 * Whether the configuration can be sent to a thread. Functions, such as one that fetches a password,
 * cannot.
 */
function isCloneable(config: object): boolean {
  try {
    structuredClone(config);
    return true;
  } catch {
    return false;
  }
}
