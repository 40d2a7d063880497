// Inspection: reads the settings of the server behind a store, to check whether it provides durability.
//   - Nothing is written, and every role has the required rights.

import { miscountTexts, selectMiscounts } from "../../core/provider/tallies.ts";
import { toTally } from "../../sql/rows/tallies.ts";
import { flag, integer, only, text } from "../../sql/columns.ts";
import { Subject } from "../connection/subject.ts";

/** The result of `PostgresProvider.inspect`. */
export interface ServerInspection {
  /** As the server reports it, such as "18.4"; `versionNumber` is a number, such as 180004. */
  readonly version: string;
  readonly versionNumber: number;
  readonly fsync: string;
  readonly fullPageWrites: string;
  /** The default of the server. Every write of Perdure sets its own value. */
  readonly synchronousCommit: string;
  readonly autovacuum: string;
  /** The server is a standby and does not accept writes. */
  readonly isStandby: boolean;
  /** Whether transactions are read-only by default. */
  readonly isReadOnly: boolean;
  readonly connections: {
    /** The connections available to ordinary roles. */
    readonly max: number;
    /** The connections in use in all databases now. */
    readonly used: number;
    /** The most connections that one process opens on this store, with the options of this provider. */
    readonly eachProcess: number;
  };
  /** Metrics that differ from a count of instances; undefined if they were not compared. */
  readonly miscounts: readonly string[] | undefined;
}
/** Options of `PostgresProvider.inspect`. */
export interface InspectOptions {
  /** Counts all instances and compares the metrics with the counts. Default: false. */
  readonly thorough?: boolean;
}

export class Inspections extends Subject {
  readonly #select = this.prepare(`
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
  readonly #selectMiscounts = this.prepare(selectMiscounts("@"));

  async inspect(eachProcess: number, { thorough }: InspectOptions): Promise<ServerInspection> {
    const row = only(await this.connection.readOnce(this.#select));
    const miscounts =
      thorough === true ? await this.connection.readOnce(this.#selectMiscounts) : undefined;
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
