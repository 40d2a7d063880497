// The check-up of a PostgreSQL server: version, durability, writability, vacuum, connections.

import type { ServerInspection } from "../../postgres/inspection.ts";
import { plural } from "../plural.ts";
import { ok, problem, warning, type Finding } from "./finding.ts";
import { checkMetrics } from "./metrics.ts";

/** The oldest one that is supported (docs/postgresql.md). */
const VERSION_MIN = 140_000;
const CONNECTIONS_SHARE_MAX = 0.8;

/** `runtimes`: how many are registered with the store. */
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
    const message = "the server is a standby: it follows another one and takes no writes.";
    return problem("writable", message, { hint: "Use the address of the primary." });
  }
  if (isReadOnly) {
    const hint =
      "Set default_transaction_read_only = off for the server, the database or the role.";
    return problem("writable", "default_transaction_read_only is on.", { hint });
  }
  return ok("writable", "the server takes writes");
}

function checkFsync({ fsync }: ServerInspection): Finding {
  if (fsync === "on") return ok("fsync", "what is committed is on disk");
  const message = "fsync is off: a power cut may lose or damage everything.";
  return problem("fsync", message, { hint: "Set fsync = on." });
}

function checkPages({ fullPageWrites }: ServerInspection): Finding {
  if (fullPageWrites === "on") return ok("page-writes", "a torn page is repaired");
  const message = "full_page_writes is off: a power cut may leave torn pages that nothing repairs.";
  const hint = "Set full_page_writes = on, unless the file system writes whole pages (ZFS).";
  return warning("page-writes", message, hint);
}

function checkCommit({ synchronousCommit }: ServerInspection): Finding {
  const message = `the server's default is ${synchronousCommit}; each write sets its own`;
  return ok("commit-default", message);
}

function checkVacuum({ autovacuum }: ServerInspection): Finding {
  if (autovacuum === "on") return ok("autovacuum", "dead rows are removed");
  const message = "autovacuum is off: dead rows pile up and every statement gets slower.";
  return warning("autovacuum", message, "Set autovacuum = on.");
}

function checkConnections({ connections }: ServerInspection, runtimes: number): Finding {
  const { max, used, eachProcess } = connections;
  const hint = "Raise max_connections, lower poolSize, or put a pooler in between.";
  if (used > max * CONNECTIONS_SHARE_MAX) {
    return warning("connections", `${used} of ${max} connections are taken`, hint);
  }
  if (runtimes * eachProcess > max) {
    const message = `${plural(runtimes, "runtime")} may open ${eachProcess} connections each; the server has ${max}`;
    return warning("connections", message, hint);
  }
  return ok("connections", `${used} of ${max} are taken; a process opens up to ${eachProcess}`);
}
