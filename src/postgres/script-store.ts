// Script store of PostgreSQL: runs scripts on the connections of the pool.
//   - A script that reads has one round trip per step. A script that writes has two more, for BEGIN and
//     COMMIT; `writeOnce` has one in all.

import type { Scope } from "../sql/script/scope.ts";
import type { Script } from "../sql/script/script.ts";
import type { Call } from "../sql/script/statement.ts";
import type { ScriptStore, WriteOptions } from "../sql/script/store.ts";
import { withPerdureErrors, type Connection } from "./connection/connection.ts";
import { addCalls, runScript } from "./connection/script-driver.ts";
import { Pipeline } from "./connection/pipeline.ts";
import type { ChangeNotifier } from "./notify/change-notifier.ts";

export class PostgresScripts implements ScriptStore {
  readonly #connection: Connection;
  readonly #notifier: ChangeNotifier;

  constructor(connection: Connection, notifier: ChangeNotifier) {
    this.#connection = connection;
    this.#notifier = notifier;
  }

  read<T>(script: (now: number) => Script<T>, how?: "survey"): Promise<T> {
    const connection = this.#connection;
    return runScript(script(connection.now()), connection.statements, (pipeline) =>
      how === "survey" ? connection.readPipelineOnce(pipeline) : connection.readPipeline(pipeline),
    );
  }

  write<T>(script: (scope: Scope) => Script<T>, options: WriteOptions = {}): Promise<T> {
    return this.#notifier.transact(
      (statements, changes) => statements.script(script({ now: statements.now, changes })),
      options,
    );
  }

  writeWithout<T>(owner: string, script: (scope: Scope) => Script<T>): Promise<T> {
    return this.#notifier.transactWithout(owner, (statements, changes) =>
      statements.script(script({ now: statements.now, changes })),
    );
  }

  async writeOnce(call: Call): Promise<number> {
    const pipeline = new Pipeline();
    const [answer] = addCalls(pipeline, [call], this.#connection.statements);
    await withPerdureErrors(this.#connection.write(pipeline));
    return answer?.count ?? 0;
  }
}
