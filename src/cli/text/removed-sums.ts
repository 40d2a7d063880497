// Adds up what `delete` and `prune` removed.

import type { Removed } from "../../core/provider/admin.ts";

export class RemovedSums {
  readonly all = { instances: 0, executions: 0, events: 0, messages: 0 };

  add({ instances, executions, events, messages }: Removed): void {
    this.all.instances += instances;
    this.all.executions += executions;
    this.all.events += events;
    this.all.messages += messages;
  }
}
