// Requests: the row of a request id as the result of its call.

import type { Asker } from "../../core/provider/asks.ts";
import { ASK_OUTCOMES, type StoredAsk } from "../../core/provider/shared/asks.ts";
import { REQUEST_OUTCOMES, type RequestOutcome } from "../../core/provider/shared/requests.ts";
import { isDamaged } from "../../core/values/checksum.ts";
import { integer, integerOrNull, json, textOrNull, word, type Row } from "../columns.ts";

/** The columns of an ask that `toStoredAsk` reads. */
export const ASK_COLUMNS = "outcome, execution, digest, answer, answer_checksum";

/** From the columns outcome, execution and digest. */
export function toRequestOutcome(row: Row): RequestOutcome {
  return {
    outcome: word(row, "outcome", REQUEST_OUTCOMES),
    execution: integer(row, "execution"),
    digest: textOrNull(row, "digest"),
  };
}

/**
 * From ASK_COLUMNS. A damaged answer is returned as null: the caller then reads the ask, which reports the
 * damage (read/asks.ts).
 */
export function toStoredAsk(row: Row): StoredAsk {
  return {
    outcome: word(row, "outcome", ASK_OUTCOMES),
    execution: integer(row, "execution"),
    digest: textOrNull(row, "digest"),
    answer: hasDamagedAnswer(row) ? null : textOrNull(row, "answer"),
  };
}

/** From the columns answer and answer_checksum. */
export function hasDamagedAnswer(row: Row): boolean {
  return isDamaged(integerOrNull(row, "answer_checksum"), textOrNull(row, "answer"));
}

/** From the column asker. Null: its text cannot be read. */
export function toAsker(row: Row): Asker | null {
  return json(row, "asker", isAsker) ?? null;
}

function isAsker(value: unknown): value is Asker {
  if (typeof value !== "object" || value === null) return false;
  const members: Readonly<Record<string, unknown>> = { ...value };
  const isText = (name: string): boolean => typeof members[name] === "string";
  const isNumber = (name: string): boolean => typeof members[name] === "number";
  return isText("id") && isText("runId") && isNumber("execution") && isNumber("sequence");
}
