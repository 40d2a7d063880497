// The answers to errors: one table from the codes of the library.
//   - A message is passed on only if it says what the sender must change. It never contains the id of an instance.

import { isPerdureError, type ErrorCode } from "../core/errors/errors.ts";
import { Refused, type Answer, type AnswerCode } from "./answers.ts";

const ANSWER_OF: Partial<Readonly<Record<ErrorCode, AnswerCode>>> = {
  TOKEN_INVALID: "NOT_FOUND",
  CALLBACK_CLOSED: "CALLBACK_CLOSED",
  INVALID_ARGUMENT: "VALUE_REFUSED",
  VALUE_NOT_SERIALIZABLE: "VALUE_REFUSED",
  LIMIT_EXCEEDED: "BODY_TOO_LARGE",
  TIMEOUT: "TIMEOUT",
  STORE_UNAVAILABLE: "UNAVAILABLE",
  STORE_READ_ONLY: "UNAVAILABLE",
  STORE_MOVED: "UNAVAILABLE",
  SHUTTING_DOWN: "UNAVAILABLE",
};
const EXPLAINED: readonly AnswerCode[] = ["VALUE_REFUSED", "BODY_TOO_LARGE"];

export function answerOf(error: unknown): Answer {
  if (error instanceof Refused) return error.answer;
  const code = isPerdureError(error) ? ANSWER_OF[error.code] : undefined;
  if (code === undefined || !(error instanceof Error)) return { code: "INTERNAL" };
  return EXPLAINED.includes(code) ? { code, detail: error.message } : { code };
}
