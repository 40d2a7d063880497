// Checks a PostgreSQL server: version, durability, writability, vacuum, connections.

import type { ServerInspection } from "../../postgres/read/inspection.ts";
import { plural } from "../text/plural.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";
import { checkMetrics } from "./metrics.ts";

/** The oldest supported version (docs/postgresql.md). */
const VERSION_MIN = 140_000;
const CONNECTIONS_SHARE_MAX = 0.8;

/** `runtimes`: the number of runtimes registered in the store. */
export function checkPostgres(found: ServerInspection, runtimes: number): readonly Finding[] {
  return [
    checkVersion(found),
    checkWrites(found),
    checkFsync(found),
    checkPages(found),
    checkCommit(found),
    checkVacuum(found),
    checkConnections(found, runtimes),
    ...checkMetrics(found.miscounts),
  ];
}

function checkVersion({ version, versionNumber }: ServerInspection): Finding {
  if (versionNumber >= VERSION_MIN) return ok("server-version", `PostgreSQL ${version}`);
  const message = `PostgreSQL ${version} is too old.`;
  return problem("server-version", message, { hint: "Use PostgreSQL 14 or later." });
}

function checkWrites({ isStandby, isReadOnly }: ServerInspection): Finding {
  if (isStandby) {
    const message = "the server is a standby: it accepts no writes.";
    return problem("writable", message, { hint: "Use the address of the primary." });
  }
  if (isReadOnly) {
    const hint =
      "Set default_transaction_read_only = off for the server, the database or the role.";
    return problem("writable", "default_transaction_read_only is on.", { hint });
  }
  return ok("writable", "the server accepts writes");
}

function checkFsync({ fsync }: ServerInspection): Finding {
  if (fsync === "on") return ok("fsync", "committed data is on disk");
  const message = "fsync is off: a power failure may lose or damage all data.";
  return problem("fsync", message, { hint: "Set fsync = on." });
}

function checkPages({ fullPageWrites }: ServerInspection): Finding {
  if (fullPageWrites === "on") return ok("page-writes", "torn pages are repaired");
  const message = "full_page_writes is off: after a power failure, torn pages cannot be repaired.";
  const hint = "Set full_page_writes = on, unless the file system writes whole pages (ZFS).";
  return warning("page-writes", message, hint);
}

function checkCommit({ synchronousCommit }: ServerInspection): Finding {
  const message = `the server's default is ${synchronousCommit}; Perdure sets synchronous_commit for each write`;
  return ok("commit-default", message);
}

function checkVacuum({ autovacuum }: ServerInspection): Finding {
  if (autovacuum === "on") return ok("autovacuum", "dead rows are removed");
  const message = "autovacuum is off: dead rows accumulate and statements get slower.";
  return warning("autovacuum", message, "Set autovacuum = on.");
}

function checkConnections({ connections }: ServerInspection, runtimes: number): Finding {
  const { max, used, eachProcess } = connections;
  const hint = "Raise max_connections, lower poolSize, or use a connection pooler.";
  if (used > max * CONNECTIONS_SHARE_MAX) {
    return warning("connections", `${used} of ${max} connections are in use`, hint);
  }
  if (runtimes * eachProcess > max) {
    const message = `${plural(runtimes, "runtime")} may open ${eachProcess} connections each; the server has ${max}`;
    return warning("connections", message, hint);
  }
  return ok("connections", `${used} of ${max} in use; a process opens up to ${eachProcess}`);
}
