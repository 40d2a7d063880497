// The id of the store, which the tokens of callbacks contain.

import { only, text } from "../columns.ts";
import { run, type Script } from "../script/script.ts";
import { Statement } from "../script/statement.ts";

const SELECT = new Statement("SELECT id FROM @store");

export function* readStoreId(): Script<string> {
  return text(only(yield* run(SELECT)), "id");
}
