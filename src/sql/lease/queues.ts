// Queues: which rules and pauses the queues have.
//   - sql.queues.1: A declaration that changes nothing takes no lock. A rule that replaces another one is reported with
//     the runtime that declared the previous one. If that runtime is gone, an equal declaration replaces its name.
//   - sql.queues.2: A task of a queue with a rule has `holds_slot` while it is leased or deferred. The statements that
//     lease a task set it. A first rule sets it for the tasks that are leased or deferred already.
//   - Every change of a rule, and a resume, notifies workers that tasks may be waiting.

import type {
  QueueDeclaration,
  QueueRule,
  QueueState,
  ReplacedRule,
} from "../../core/provider/queues.ts";
import { flag, text, textOrNull, type Row } from "../columns.ts";
import { exists } from "../index-lookup.ts";
import { ruleText, toQueueState, toRule } from "../rows/queue-rows.ts";
import type { Scope } from "../script/scope.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const DECLARED = `
  SELECT q.name, q.rule, q.declared_by,
    ${exists("FROM @runtimes AS r WHERE r.id = q.declared_by")} AS is_live
  FROM @queues AS q WHERE q.name = ANY ($1::text[])`;
const SELECT_DECLARED = new Statement(DECLARED);
const LOCK_DECLARED = new Statement(`${DECLARED} ORDER BY q.name FOR UPDATE OF q`);
const DECLARE = new Statement(`
  INSERT INTO @queues (name, rule, limits_slots, limits_keys, rate_ms, declared_by, declared_at)
  VALUES ($1, $2, $3::boolean, $4::boolean, $5::bigint, $6, @now)
  ON CONFLICT (name) DO UPDATE SET
    rule = excluded.rule, limits_slots = excluded.limits_slots,
    limits_keys = excluded.limits_keys, rate_ms = excluded.rate_ms,
    declared_by = excluded.declared_by, declared_at = excluded.declared_at`);
// In the order in which other transactions lock tasks.
const LOCK_HELD = new Statement(`
  SELECT t.instance, t.execution, t.sequence FROM @tasks AS t
  WHERE t.name = $1 AND (t.lease_owner IS NOT NULL OR t.deferred_until IS NOT NULL)
  ORDER BY t.instance, t.execution, t.sequence FOR UPDATE`);
const HOLD_SLOTS = new Statement(`
  UPDATE @tasks SET holds_slot = true
  WHERE name = $1 AND (lease_owner IS NOT NULL OR deferred_until IS NOT NULL)`);
const FORGET_LANES = new Statement("DELETE FROM @queue_lanes WHERE name = $1");
const FORGET_CLOCKS = new Statement("DELETE FROM @queue_clocks WHERE name = $1");
const PAUSE = new Statement(`
  INSERT INTO @queues AS q (name, limits_slots, limits_keys, paused) VALUES ($1, false, false, $2)
  ON CONFLICT (name) DO UPDATE SET paused = coalesce(q.paused, excluded.paused)`);
const RESUME = new Statement(`
  UPDATE @queues SET paused = NULL WHERE name = $1 AND paused IS NOT NULL RETURNING name`);
const SELECT_STATES = new Statement(`
  SELECT q.name, q.rule, q.paused FROM @queues AS q
  WHERE q.rule IS NOT NULL OR q.paused IS NOT NULL ORDER BY q.name`);

interface Change {
  readonly declaration: QueueDeclaration;
  /** Undefined: the queue has no row. */
  readonly previous: Row | undefined;
  readonly isNewRule: boolean;
}

/** Whether a declaration changes a queue. */
export function* changesQueues(declarations: readonly QueueDeclaration[]): Script<boolean> {
  if (declarations.length === 0) return false;
  const rows = yield* run(SELECT_DECLARED, names(declarations));
  return changesOf(declarations, rows).length > 0;
}

/** provider.queues.1, sql.queues.1 */
export function* declareQueues(
  runtimeId: string,
  declarations: readonly QueueDeclaration[],
  scope: Scope,
): Script<readonly ReplacedRule[]> {
  const rows = yield* run(LOCK_DECLARED, names(declarations));
  const replaced: ReplacedRule[] = [];
  for (const { declaration, previous, isNewRule } of changesOf(declarations, rows)) {
    const { name, rule } = declaration;
    const limitsKeys = rule?.perKey !== undefined;
    const limitsSlots = limitsKeys || rule?.concurrency !== undefined;
    const limits = [limitsSlots, limitsKeys, rateMs(rule)];
    yield* run(DECLARE, name, ruleText(rule), ...limits, runtimeId);
    if (!isNewRule) continue;
    scope.changes.queued(name);
    const previousRule = previous === undefined ? null : toRule(previous);
    if (previousRule === null) yield* holdSlots(name);
    if (rule?.fair !== true) yield* forgetOrder(name);
    const declaredBy = previous === undefined ? null : textOrNull(previous, "declared_by");
    if (previous === undefined || declaredBy === null || declaredBy === runtimeId) continue;
    replaced.push({
      name,
      previous: previousRule,
      declaredBy,
      isLive: flag(previous, "is_live"),
    });
  }
  return replaced;
}

/** sql.queues.2 */
function* holdSlots(name: string): Script<void> {
  yield* run(LOCK_HELD, name);
  yield* run(HOLD_SLOTS, name);
}

function* forgetOrder(name: string): Script<void> {
  yield* run(FORGET_LANES, name);
  yield* run(FORGET_CLOCKS, name);
}

export function* readQueueStates(): Script<readonly QueueState[]> {
  return (yield* run(SELECT_STATES)).map(toQueueState);
}

export function* pauseQueue(name: string, info: string): Script<void> {
  yield* run(PAUSE, name, info);
}

export function* resumeQueue(name: string, { changes }: Scope): Script<void> {
  if ((yield* run(RESUME, name)).length > 0) changes.queued(name);
}

/** Ordered by name, so that all transactions lock queues in one order. */
function changesOf(declarations: readonly QueueDeclaration[], rows: readonly Row[]): Change[] {
  const known = new Map(rows.map((row) => [text(row, "name"), row]));
  const byName = (a: QueueDeclaration, b: QueueDeclaration): number => (a.name < b.name ? -1 : 1);
  return declarations.toSorted(byName).flatMap((declaration): Change[] => {
    const previous = known.get(declaration.name);
    if (previous === undefined) {
      return declaration.rule === null ? [] : [{ declaration, previous, isNewRule: true }];
    }
    const isNewRule = textOrNull(previous, "rule") !== ruleText(declaration.rule);
    return isNewRule || !flag(previous, "is_live") ? [{ declaration, previous, isNewRule }] : [];
  });
}

function names(declarations: readonly QueueDeclaration[]): readonly string[] {
  return declarations.map(({ name }) => name);
}

function rateMs(rule: QueueRule | null): number | null {
  return rule?.rate === undefined ? null : Math.ceil(rule.rate.perMs);
}
