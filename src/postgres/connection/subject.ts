// Subject: an object that owns the statements of one subject on one connection (assemble.ts). Its fields are
// set after its connection, so a field can hold a prepared statement.

import type { Connection } from "./connection.ts";
import type { Statement } from "./pipeline.ts";

export abstract class Subject {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  protected prepare(sql: string): Statement {
    return this.connection.prepare(sql);
  }
}
