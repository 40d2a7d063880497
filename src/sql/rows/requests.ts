// Requests: the row of a request id as the result of its call.

import { REQUEST_OUTCOMES, type RequestOutcome } from "../../core/provider/shared/requests.ts";
import { integer, textOrNull, word, type Row } from "../columns.ts";

/** From the columns outcome, execution and digest. */
export function toRequestOutcome(row: Row): RequestOutcome {
  return {
    outcome: word(row, "outcome", REQUEST_OUTCOMES),
    execution: integer(row, "execution"),
    digest: textOrNull(row, "digest"),
  };
}
