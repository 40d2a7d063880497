// Parts: one object a subject, each with its own prepared statements, put together once a connection.

import { GroupCommit } from "./commit.ts";
import type { Connection } from "./connection.ts";
import { Deliveries } from "./delivery.ts";
import { Endings } from "./ending.ts";
import { History } from "./history.ts";
import { Inbox } from "./inbox.ts";
import { Instances } from "./instances.ts";
import { InstanceLeases } from "./leases.ts";
import { Notifier } from "./notifications.ts";
import { Requests } from "./requests.ts";
import { Runtimes } from "./runtimes.ts";
import { Sends } from "./send.ts";
import { Settlement } from "./settle.ts";
import { Starts } from "./start.ts";
import { TaskQueue } from "./task-queue.ts";
import { Tasks } from "./tasks.ts";
import { Turns } from "./turn.ts";

/** What the provider's methods call. */
export interface Parts {
  readonly inbox: Inbox;
  readonly history: History;
  readonly instances: Instances;
  readonly tasks: Tasks;
  readonly notifier: Notifier;
  readonly groups: GroupCommit;
  readonly settlement: Settlement;
  readonly leases: InstanceLeases;
  readonly queue: TaskQueue;
  readonly runtimes: Runtimes;
}

export function assemble(connection: Connection): Parts {
  const inbox = new Inbox(connection);
  const history = new History(connection);
  const instances = new Instances(connection);
  const requests = new Requests(connection);
  const notifier = new Notifier(connection);
  const deliveries = new Deliveries(inbox);
  const runtimes = new Runtimes(connection, inbox, notifier);
  const leases = new InstanceLeases(connection, inbox, history, runtimes);
  const tasks = new Tasks(connection, inbox, instances);
  const endings = new Endings({ instances, inbox, tasks, history, deliveries });
  const sends = new Sends({ instances, requests, deliveries, endings });
  const starts = new Starts({ instances, inbox, requests, endings, deliveries, runtimes });
  const turns = new Turns(connection, { inbox, tasks, history, starts, sends });
  return {
    inbox,
    history,
    instances,
    tasks,
    notifier,
    leases,
    groups: new GroupCommit(connection, { starts, turns, tasks, sends, endings, leases }, notifier),
    settlement: new Settlement(connection, { instances, inbox, tasks, requests }),
    queue: new TaskQueue(connection, runtimes),
    runtimes,
  };
}
