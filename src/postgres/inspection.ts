// Inspection: the server behind a store, for those who want to know whether it is set up as durability needs it.
//   IN1. Nothing is written, and no right is needed that every role does not have.

import { miscountTexts } from "../core/provider/tallies.ts";
import { flag, integer, only, text } from "./columns.ts";
import type { Connection } from "./connection.ts";
import type { Statement } from "./pipeline.ts";
import { SELECT_MISCOUNTS, toTally } from "./tallies.ts";

/** What `PostgresProvider.inspect` tells. */
export interface ServerInspection {
  /** As the server says it, such as "18.4", and as a number, such as 180004. */
  readonly version: string;
  readonly versionNumber: number;
  readonly fsync: string;
  readonly fullPageWrites: string;
  /** The server's own default; every write sets what it needs. */
  readonly synchronousCommit: string;
  readonly autovacuum: string;
  /** It follows another server and takes no writes. */
  readonly isStandby: boolean;
  /** Transactions are read-only unless they say otherwise. */
  readonly isReadOnly: boolean;
  readonly connections: {
    /** Those that ordinary roles may have. */
    readonly max: number;
    /** In all databases, at this moment. */
    readonly used: number;
    /** What one process may open on this store, with this provider's options. */
    readonly eachProcess: number;
  };
  /** Figures of metrics that differ from a count of instances; undefined: they were not compared. */
  readonly miscounts: readonly string[] | undefined;
}
/** What `PostgresProvider.inspect` looks at besides the server's settings. */
export interface InspectOptions {
  /** Counts all instances and compares the figures of metrics with them. Default: false. */
  readonly thorough?: boolean;
}

export class Inspections {
  readonly #connection: Connection;
  readonly #select: Statement;
  readonly #selectMiscounts: Statement;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#select = connection.prepare(`
      SELECT current_setting('server_version') AS version,
        current_setting('server_version_num') AS version_number,
        current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
        current_setting('synchronous_commit') AS synchronous_commit,
        current_setting('autovacuum') AS autovacuum, pg_is_in_recovery() AS is_standby,
        current_setting('default_transaction_read_only') AS read_only,
        current_setting('max_connections')::int
          - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true), '0')::int AS connections_max,
        (SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database) AS connections_used`);
    this.#selectMiscounts = connection.prepare(SELECT_MISCOUNTS);
  }

  async inspect(eachProcess: number, { thorough }: InspectOptions): Promise<ServerInspection> {
    const row = only(await this.#connection.readOnce(this.#select));
    const miscounts =
      thorough === true ? await this.#connection.readOnce(this.#selectMiscounts) : undefined;
    return {
      version: text(row, "version"),
      versionNumber: integer(row, "version_number"),
      fsync: text(row, "fsync"),
      fullPageWrites: text(row, "full_page_writes"),
      synchronousCommit: text(row, "synchronous_commit"),
      autovacuum: text(row, "autovacuum"),
      isStandby: flag(row, "is_standby"),
      isReadOnly: text(row, "read_only") === "on",
      connections: {
        max: integer(row, "connections_max"),
        used: integer(row, "connections_used"),
        eachProcess,
      },
      miscounts: miscounts?.flatMap((found) => miscountTexts(toTally(found))),
    };
  }
}
