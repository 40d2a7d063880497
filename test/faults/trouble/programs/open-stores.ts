// Opens stores and reports the result of each: `open-stores.ts <path>…`.

import { isPerdureError } from "../../../../src/index.ts";
import { SqliteProvider } from "../../../../src/sqlite/index.ts";
import { say } from "./say.ts";

for (const path of process.argv.slice(2)) {
  try {
    await (await SqliteProvider.open(path)).close();
    say("opened");
  } catch (error) {
    if (!isPerdureError(error)) throw error;
    say(error.code, { message: error.message });
  }
}
