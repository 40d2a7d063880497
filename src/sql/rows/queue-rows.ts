// Queue rows: the rule of a queue as text, and maps rows about queues to the records of the contract.
//   - Equal rules have equal texts.

import { PerdureError } from "../../core/errors/errors.ts";
import type {
  QueueKeyFigures,
  QueueOutcomes,
  QueueRule,
  QueueState,
} from "../../core/provider/queues.ts";
import type { WorkSummary } from "../../core/provider/runtimes.ts";
import type { NewTask } from "../../core/provider/tasks.ts";
import { integer, integers, isTextList, json, text, textOrNull, type Row } from "../columns.ts";

/** SQL condition: the queue of the task `t` has a rule. The first part is evaluated once per statement. */
export const HAS_RULE = `EXISTS (SELECT 1 FROM @queues) AND EXISTS (
  SELECT 1 FROM @queues AS q WHERE q.name = t.name AND q.rule IS NOT NULL)`;
/** Sets the slot of a task that is freed: only a deferred task keeps it. */
export const KEEP_DEFERRED_SLOT = "holds_slot = (holds_slot AND deferred_until IS NOT NULL)";

/** The stored key of a task. A task with a weight and without a key has the empty key. */
export function queueKeyOf({ queueKey, weight }: NewTask): string | null {
  return queueKey ?? (weight === undefined ? null : "");
}

/** Null: no rule. */
export function ruleText(rule: QueueRule | null): string | null {
  if (rule === null) return null;
  const { concurrency, perKey, rate, fair } = rule;
  const { count, perMs } = rate ?? {};
  return JSON.stringify({
    concurrency,
    perKey,
    rate: rate === undefined ? undefined : { count, perMs },
    fair,
  });
}

export function toRule(row: Row): QueueRule | null {
  if (row["rule"] === null) return null;
  const rule = json(row, "rule", isRule);
  if (rule !== undefined) return rule;
  const message = `The rule of queue "${text(row, "name")}" cannot be read: ${text(row, "rule")}`;
  throw new PerdureError("STORE_INVALID", message);
}

/** The store wrote it with `ruleText`. */
function isRule(value: unknown): value is QueueRule {
  return typeof value === "object" && value !== null;
}

export function toQueueState(row: Row): QueueState {
  return { name: text(row, "name"), rule: toRule(row), paused: textOrNull(row, "paused") };
}

/** From a JSON list of the names of queues with a rule or a pause; NULL or empty: none. */
export function ruledOf(row: Row): Pick<WorkSummary, "ruled"> {
  const names = row["ruled"] === null ? [] : json(row, "ruled", isTextList);
  return names === undefined || names.length === 0 ? {} : { ruled: names };
}

export function toOutcomes(row: Row): QueueOutcomes {
  return { name: text(row, "name"), ...integers(row, "completed", "failed", "retried") };
}

export function toKeyFigures(row: Row): QueueKeyFigures {
  return {
    key: text(row, "key"),
    waiting: integer(row, "waiting"),
    running: integer(row, "running"),
  };
}
