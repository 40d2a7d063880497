// SQL mutants: one condition, order, lock or statement changed at a time; what `npm run sabotage -- --list sql` applies.
//   SQ1. A mutant changes what SQL does and stays valid SQL; it is found by what a caller sees, not by an error of the
//        parser.
//   SQ2. Where every provider owes it, the conformance suite finds it; races of several connections are found by the
//        checks for linearizability.

import type { Patch } from "./patches.ts";

type Change = Pick<Patch, "bug" | "file" | "from" | "to"> & {
  /** Subjects of the conformance suite. */
  readonly in: string;
};

const SQLITE: readonly Change[] = [
  {
    bug: "a turn is committed whatever its last event is",
    file: "turn.ts",
    from: "lease_token = ?3 AND last_event = ?4",
    to: "lease_token = ?3 AND ?4 IS NOT NULL",
    in: "fencing|turn atomicity",
  },
  {
    bug: "a turn is committed whatever its execution is",
    file: "turn.ts",
    from: "key = ?1 AND execution = ?2 AND lease_token",
    to: "key = ?1 AND ?2 IS NOT NULL AND lease_token",
    in: "fencing|continue as new|multiple executions",
  },
  {
    bug: "a claim of one task holds for all that were leased with it",
    file: "tasks.ts",
    from: "execution = ? AND sequence = ? AND lease_token = ?",
    to: "execution = ? AND ? IS NOT NULL AND lease_token = ?",
    in: "tasks",
  },
  {
    bug: "tasks are deleted before they are inserted, when a turn asks for both",
    file: "turn.ts",
    from: `    for (const task of item.tasks) this.#tasks.insert(key, execution, task, transaction);
    for (const sequence of item.cancelledTasks) {
      this.#tasks.cancel(key, execution, sequence, transaction);
    }`,
    to: `    for (const sequence of item.cancelledTasks) {
      this.#tasks.cancel(key, execution, sequence, transaction);
    }
    for (const task of item.tasks) this.#tasks.insert(key, execution, task, transaction);`,
    in: "turn atomicity",
  },
  {
    bug: "a lease is renewed without a look at its token",
    file: "leases.ts",
    from: "iif(lease_until IS NULL, NULL, ?)\n      WHERE key = ? AND lease_token = ?",
    to: "iif(lease_until IS NULL, NULL, ?)\n      WHERE key = ? AND (lease_token = ? OR 1)",
    in: "lease expiry|fencing|instance leases",
  },
  {
    bug: "a renewal gives an end to a lease that has none",
    file: "leases.ts",
    from: "lease_until = iif(lease_until IS NULL, NULL, ?)",
    to: "lease_until = ?",
    in: "lease expiry|ends to the millisecond",
  },
  {
    bug: "a lease is given back without a look at its token",
    file: "leases.ts",
    from: "lease_token = ? RETURNING id",
    to: "(lease_token = ? OR 1) RETURNING id",
    in: "fencing|instance leases",
  },
  {
    bug: "an orderly release leaves a suspicion behind",
    file: "leases.ts",
    from: "lease_until = NULL, suspicion = 0\n      WHERE key = ? AND lease_token = ? RETURNING",
    to: "lease_until = NULL\n      WHERE key = ? AND lease_token = ? RETURNING",
    in: "suspicion",
  },
  {
    bug: "a lease counts for nothing against its instance",
    file: "leases.ts",
    from: "lease_until = ?, suspicion = suspicion + 1",
    to: "lease_until = ?, suspicion = suspicion + 0",
    in: "suspicion",
  },
  {
    bug: "a lease that ends now holds for another millisecond (instances)",
    file: "due-instances.ts",
    from: "(lease_owner IS NULL OR lease_until <= ?1)",
    to: "(lease_owner IS NULL OR lease_until < ?1)",
    in: "lease expiry|ends to the millisecond",
  },
  {
    bug: "a lease that has not ended is taken over",
    file: "due-instances.ts",
    from: "(lease_owner IS NULL OR lease_until <= ?1)",
    to: "(lease_owner IS NULL OR lease_until <= ?1 + 1)",
    in: "lease expiry|ends to the millisecond",
  },
  {
    bug: "who is due now is leased a millisecond later",
    file: "due-instances.ts",
    from: "AND m.visible_at <= ?1",
    to: "AND m.visible_at < ?1",
    in: "instance leases|timers",
  },
  {
    bug: "instances are leased in the order of their birth",
    file: "due-instances.ts",
    from: "ORDER BY m.visible_at, m.instance",
    to: "ORDER BY m.instance",
    in: "instance leases",
  },
  {
    bug: "a paused instance is leased",
    file: "due-instances.ts",
    from: "paused IS NULL AND status IN",
    to: "status IN",
    in: "pause",
  },
  {
    bug: "a blocked instance is leased by whoever found it blocked",
    file: "due-instances.ts",
    from: "instr(blocked_by, ?3) = 0",
    to: "instr(blocked_by, ?3) >= 0",
    in: "blocked",
  },
  {
    bug: "a task that is due now is leased a millisecond later",
    file: "task-cuts.ts",
    from: "WHERE ${OF_SESSION} AND ${CUT} AND available_at <= ?6 ${ORDER}",
    to: "WHERE ${OF_SESSION} AND ${CUT} AND available_at < ?6 ${ORDER}",
    in: "tasks|task retry",
  },
  {
    bug: "of many tasks the oldest instance's come first",
    file: "task-cuts.ts",
    from: '"ORDER BY available_at, instance,',
    to: '"ORDER BY instance,',
    in: "tasks|task retry",
  },
  {
    bug: "a lease that ends now holds for another millisecond (tasks)",
    file: "task-cuts.ts",
    from: "lease_until IS NOT NULL AND lease_until <= ?",
    to: "lease_until IS NOT NULL AND lease_until < ?",
    in: "lease expiry|ends to the millisecond",
  },
  {
    bug: "a session that lapses now is left to its last owner",
    file: "task-cuts.ts",
    from: "owner <> ?5 AND until > ?6",
    to: "owner <> ?5 AND until >= ?6",
    in: "session leases|sessions",
  },
  {
    bug: "the second death does not make a suspect, the third does",
    file: "task-queue.ts",
    from: "iif(?4 AND deaths >= 1",
    to: "iif(?4 AND deaths > 1",
    in: "task suspects|lease expiry",
  },
  {
    bug: "messages come in the order of their ids, whenever they become visible",
    file: "inbox.ts",
    from: "ORDER BY visible_at, id LIMIT +?",
    to: "ORDER BY id LIMIT +?",
    in: "inbox order|timers",
  },
  {
    bug: "a message that becomes visible now is seen a millisecond later",
    file: "inbox.ts",
    from: "visible_at <= ?\n      ORDER BY",
    to: "visible_at < ?\n      ORDER BY",
    in: "timers|sends",
  },
  {
    bug: "a second message with one key takes the first one's place",
    file: "inbox.ts",
    from: "WHERE key IS NOT NULL DO NOTHING",
    to: "WHERE key IS NOT NULL DO UPDATE SET data = excluded.data",
    in: "duplicates",
  },
  {
    bug: "a cancelled timer takes its deadline along",
    file: "inbox.ts",
    from: "sequence = ? AND kind = ? AND key IS NULL",
    to: "sequence = ? AND (kind = ? OR 1) AND key IS NULL",
    in: "timers",
  },
  {
    bug: "a turn consumes messages of other instances",
    file: "inbox.ts",
    from: "DELETE FROM inbox WHERE id = ? AND instance = ?",
    to: "DELETE FROM inbox WHERE id = ? AND (instance = ? OR 1)",
    in: "turn atomicity|fencing",
  },
  {
    bug: "the events that nobody read go with their instance's end",
    file: "inbox.ts",
    from: "DELETE FROM inbox WHERE instance = ? AND kind <> 'event'",
    to: "DELETE FROM inbox WHERE instance = ?",
    in: "turn atomicity|terminate|restart and conflicts|inbox order|sends",
  },
  {
    bug: "the next execution's inbox is emptied after its start was put there",
    file: "inbox.ts",
    from: "    this.#deleteAll.run(instance);\n    this.insert(instance, start);",
    to: "    this.insert(instance, start);\n    this.#deleteAll.run(instance);",
    in: "continue as new",
  },
  {
    bug: "a runtime that is stale by the millisecond lives",
    file: "runtimes.ts",
    from: "id = ? AND beat_at <= ?",
    to: "id = ? AND beat_at < ?",
    in: "liveness|ends to the millisecond",
  },
  {
    bug: "the first death makes a suspect",
    file: "runtimes.ts",
    from: "suspect = (deaths >= 1)",
    to: "suspect = (deaths >= 0)",
    in: "task suspects|liveness",
  },
  {
    bug: "a session that is claimed again after a lapse keeps its token",
    file: "sessions.ts",
    from: "iif(owner = excluded.owner AND until > ?5, token",
    to: "iif(owner = excluded.owner, token",
    in: "sessions|session leases",
  },
  {
    bug: "a task of a session that others hold now keeps it from lapsing",
    file: "sessions.ts",
    from: "id = ?1 AND token = ?2 AND until > ?3",
    to: "id = ?1 AND ?2 IS NOT NULL AND until > ?3",
    in: "sessions|session leases",
  },
  {
    bug: "a session that has lapsed is renewed",
    file: "sessions.ts",
    from: "owner = ?1 AND until > ?2",
    to: "owner = ?1 AND ?2 IS NOT NULL",
    in: "sessions|session leases",
  },
  {
    bug: "kept messages are handed over the newest first",
    file: "kept.ts",
    from: "created_at > ? ORDER BY number",
    to: "created_at > ? ORDER BY number DESC",
    in: "kept messages",
  },
];

const POSTGRES: readonly Change[] = [
  {
    bug: "a turn is committed without a look at its token",
    file: "turn.ts",
    from: " AND i.lease_token = t.token\n",
    to: "\n",
    in: "fencing|turn atomicity",
  },
  {
    bug: "a turn is committed whatever its last event is",
    file: "turn.ts",
    from: "AND i.last_event = t.last_event",
    to: "",
    in: "fencing\\W+a turn that was computed from another last event is refused",
  },
  {
    bug: "a turn of a paused instance is committed",
    file: "turn.ts",
    from: "WHERE ${IS_HELD} AND i.paused IS NULL",
    to: "WHERE ${IS_HELD}",
    in: "pause",
  },
  {
    bug: "a group with a turn that was fenced off goes through",
    file: "turn.ts",
    from: "HAVING count(*) <> $",
    to: "HAVING count(*) > $",
    in: "fencing|turn atomicity",
  },
  {
    bug: "an outcome is accepted from whoever lost the task",
    file: "task-claims.ts",
    from: "AND t.lease_token = c.token`",
    to: "AND c.token IS NOT NULL`",
    in: "tasks|fencing|turn atomicity",
  },
  {
    bug: "a lease is renewed without a look at its token",
    file: "leases.ts",
    from: "AND i.lease_token = t.token RETURNING i.key",
    to: "RETURNING i.key",
    in: "lease expiry\\W+a renewal names the leases that were lost",
  },
  {
    bug: "a lease is given back without a look at its token",
    file: "leases.ts",
    from: "AND i.lease_token = t.token\n        RETURNING t.n",
    to: "RETURNING t.n",
    in: "fencing\\W+after a release",
  },
  {
    bug: "an orderly release leaves a suspicion behind",
    file: "leases.ts",
    from: "lease_until = NULL, suspicion = 0\n        FROM",
    to: "lease_until = NULL\n        FROM",
    in: "suspicion\\W+an orderly release clears the suspicion",
  },
  {
    bug: "who has open steps and no message is given back as if he had nothing to do",
    file: "leases.ts",
    from: "WHERE ${IS_TAKEN} AND NOT i.steps_open AND",
    to: "WHERE ${IS_TAKEN} AND",
    in: "liveness\\W+an instance with steps open",
  },
  {
    bug: "a lease hands over messages in the order of their ids",
    file: "leases.ts",
    from: "WHERE ${IS_TAKEN} ORDER BY i.key + 0, m.visible_at, m.id",
    to: "WHERE ${IS_TAKEN} ORDER BY i.key + 0, m.id",
    in: "inbox order\\W+a lease hands over",
  },
  {
    bug: "a lease that ends now holds for another millisecond (instances)",
    file: "due-instances.ts",
    from: "(i.lease_owner IS NULL OR i.lease_until <= (SELECT @clock()))",
    to: "(i.lease_owner IS NULL OR i.lease_until < (SELECT @clock()))",
    in: "ends to the millisecond\\W+an instance",
  },
  {
    bug: "a paused instance is leased",
    file: "due-instances.ts",
    from: "i.paused IS NULL AND i.status",
    to: "i.status",
    in: "pause\\W+outcomes that a paused turn could not carry wait in the inbox",
  },
  {
    bug: "a blocked instance is leased by whoever found it blocked",
    file: "due-instances.ts",
    from: "strpos(i.blocked_by, ${owner}) = 0",
    to: "strpos(i.blocked_by, ${owner}) >= 0",
    in: "blocked\\W+a blocked instance is not leased again by the runtime that found it",
  },
  {
    bug: "instances are found in the order of their birth, whatever their priority",
    file: "due-instances.ts",
    from: "ORDER BY h.since + c.priority * $6::bigint, h.since, h.key",
    to: "ORDER BY h.key",
    in: "instance leases\\W+(waiting raises|a higher priority|an instance of a higher|of one priority)",
  },
  {
    bug: "a task that is due now is leased a millisecond later",
    file: "task-cuts.ts",
    from: 'const IS_DUE = "r.available_at <= (SELECT @clock())"',
    to: 'const IS_DUE = "r.available_at < (SELECT @clock())"',
    in: "tasks\\W+a queued task is leased with everything it was scheduled with",
  },
  {
    bug: "of many tasks the oldest instance's come first",
    file: "task-takes.ts",
    from: "ORDER BY r.available_at, r.instance, r.execution, r.sequence\n          LIMIT c.share",
    to: "ORDER BY r.instance, r.execution, r.sequence\n          LIMIT c.share",
    in: "tasks\\W+the task that waits longest is taken before many of an older instance",
  },
  {
    bug: "a lease that ends now holds for another millisecond (tasks)",
    file: "task-cuts.ts",
    from: "c.lease_until IS NOT NULL AND c.lease_until <= (SELECT @clock())",
    to: "c.lease_until IS NOT NULL AND c.lease_until < (SELECT @clock())",
    in: "ends to the millisecond\\W+a task",
  },
  {
    bug: "a session that lapses now is left to its last owner",
    file: "task-cuts.ts",
    from: "s.owner <> ${owner} AND s.until > (SELECT @clock())",
    to: "s.owner <> ${owner} AND s.until >= (SELECT @clock())",
    in: "session leases\\W+a session that lapsed is claimed by whoever asks",
  },
  {
    bug: "the second death does not make a suspect, the third does",
    file: "task-takes.ts",
    from: "c.death = 1 AND t.deaths >= 1",
    to: "c.death = 1 AND t.deaths > 1",
    in: "task suspects\\W+a lease that runs out is a death",
  },
  {
    bug: "what is due comes in the order of ids, whenever it becomes visible",
    file: "inbox.ts",
    from: "AS m ORDER BY a.n, m.visible_at, m.id",
    to: "AS m ORDER BY a.n, m.id",
    in: "inbox order\\W+what comes due earlier is handed over earlier",
  },
  {
    bug: "a message that becomes visible now is seen a millisecond later",
    file: "inbox.ts",
    from: "m.visible_at <= (SELECT @clock())\n        ORDER BY",
    to: "m.visible_at < (SELECT @clock())\n        ORDER BY",
    in: "timers\\W+a timer does not fire a millisecond early",
  },
  {
    bug: "a second message with one key takes the first one's place",
    file: "inbox.ts",
    from: "WHERE key IS NOT NULL DO NOTHING",
    to: "WHERE key IS NOT NULL DO UPDATE SET data = excluded.data",
    in: "duplicates\\W+of two messages with one key the first stays as it is",
  },
  {
    bug: "a turn consumes messages of other instances",
    file: "inbox.ts",
    from: ' AND ${probe("m.instance", "c.instance")}`',
    to: "`",
    in: "turn atomicity\\W+a turn consumes no message of another instance",
  },
  {
    bug: "a cancelled timer takes its deadline along",
    file: "inbox.ts",
    from: "w.sequence = t.sequence AND w.kind = t.kind",
    to: "w.sequence = t.sequence",
    in: "timers\\W+cancelling a timer leaves other kinds",
  },
  {
    bug: "the events that nobody read go with their instance's end",
    file: "inbox.ts",
    from: "`${all} AND m.kind <> 'event'`",
    to: "all",
    in: "sends\\W+an event that no turn took before the end stays readable",
  },
  {
    bug: "a runtime that is stale by the millisecond lives",
    file: "runtimes.ts",
    from: "beat_at <= (SELECT @clock()) - $2",
    to: "beat_at < (SELECT @clock()) - $2",
    in: "ends to the millisecond\\W+a runtime is stale when it has not beaten for so long",
  },
  {
    bug: "the first death makes a suspect",
    file: "runtimes.ts",
    from: "suspect = (deaths >= 1)",
    to: "suspect = (deaths >= 0)",
    in: "task suspects\\W+the death of its owner counts once for every task it held and makes none suspect yet",
  },
  {
    bug: "a session is taken from its owner",
    file: "sessions.ts",
    from: "WHERE s.owner = excluded.owner OR s.until <= excluded.last_activity_at",
    to: "WHERE s.owner = excluded.owner OR s.until > 0",
    in: "sessions\\W+two runtimes that ask at once for one session",
  },
  {
    bug: "a session that has lapsed is renewed",
    file: "sessions.ts",
    from: "s.owner = $1 AND s.until > r.now AND",
    to: "s.owner = $1 AND",
    in: "session leases\\W+renewal revives no lapsed session and touches nobody else",
  },
  {
    bug: "kept messages are handed over the newest first",
    file: "kept.ts",
    from: "FROM taken WHERE lives ORDER BY number",
    to: "FROM taken WHERE lives ORDER BY number DESC",
    in: "kept messages\\W+kept events come in the order of sending",
  },
];

/** Locks: what they keep apart only meets where several connections write at once. */
const LOCKS: readonly Patch[] = [
  {
    bug: "instances are leased without a lock on what is chosen",
    file: "src/postgres/due-instances.ts",
    from: "LIMIT c.share FOR NO KEY UPDATE OF i SKIP LOCKED",
    to: "LIMIT c.share",
    tests: ["test/linearizability/linearizability.test.ts"],
    only: "PostgreSQL.*calls that overlap",
  },
  {
    bug: "what decides about an instance is read without a lock on its row",
    file: "src/postgres/instances.ts",
    from: "WHERE i.id = $1 FOR NO KEY UPDATE",
    to: "WHERE i.id = $1",
    tests: ["test/linearizability/linearizability.test.ts"],
    only: "PostgreSQL.*(calls that overlap|starts and deletions)",
  },
  {
    bug: "a lease of instances waits for whoever is at one of them",
    file: "src/postgres/due-instances.ts",
    from: "LIMIT c.share FOR NO KEY UPDATE OF i SKIP LOCKED",
    to: "LIMIT c.share FOR NO KEY UPDATE OF i",
    tests: ["test/postgres/lock-skips.test.ts"],
  },
  {
    bug: "a lease of tasks waits for whoever is at one of them",
    file: "src/postgres/task-takes.ts",
    from: "LIMIT c.share FOR UPDATE OF r SKIP LOCKED",
    to: "LIMIT c.share FOR UPDATE OF r",
    tests: ["test/postgres/lock-skips.test.ts"],
  },
];

export const SQL_PATCHES: readonly Patch[] = [
  ...SQLITE.map((change) => inStore("sqlite", "SQLite in memory", change)),
  ...POSTGRES.map((change) => inStore("postgres", "PostgreSQL", change)),
  ...LOCKS,
];

function inStore(store: string, name: string, { in: subjects, file, ...change }: Change): Patch {
  return {
    ...change,
    file: `src/${store}/${file}`,
    tests: [`test/conformance/${store}.test.ts`],
    only: `${name} keeps the provider contract\\W+(${subjects})\\b`,
  };
}
