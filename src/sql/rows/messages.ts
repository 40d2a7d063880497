// Messages: the columns that are read of a message, and their mapping to the contract.

import type { Message } from "../../core/provider/messages.ts";
import { MESSAGE_KINDS } from "../../core/provider/shared/row-checks.ts";
import { isDamaged } from "../../core/values/checksum.ts";
import { integer, integerOrNull, text, textOrNull, word, type Row } from "../columns.ts";
import type { ReadParts } from "../parts.ts";

/** Columns of a message `m`. */
export const MESSAGE_COLUMNS = `
  m.id, m.instance, m.kind, m.execution, m.sequence, m.name, m.data, m.key, m.visible_at, m.checksum`;
/** The order of messages `m` (messages.2). */
export const IN_ORDER = "m.kind = 'start' DESC, m.kind = 'cancel' DESC, m.visible_at, m.id";

/** Reads MESSAGE_COLUMNS. `coveredOf` names the values that the store's checksum covers. */
export function toMessage(row: Row, coveredOf: ReadParts["coveredOf"]): Message {
  const message: Message = {
    id: integer(row, "id"),
    kind: word(row, "kind", MESSAGE_KINDS),
    execution: integerOrNull(row, "execution"),
    sequence: integerOrNull(row, "sequence"),
    name: textOrNull(row, "name"),
    data: text(row, "data"),
    key: textOrNull(row, "key"),
    visibleAt: integer(row, "visible_at"),
  };
  const checksum = integerOrNull(row, "checksum");
  if (!isDamaged(checksum, ...coveredOf(integer(row, "instance"), message))) return message;
  return { ...message, damaged: true };
}
