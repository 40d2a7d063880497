// Subject: an object that owns the statements of one subject on one connection (assemble.ts). Its fields are
// set after its connection, so a field can hold a prepared statement.

import type { StatementSync } from "node:sqlite";
import type { Connection } from "./connection.ts";

export abstract class Subject {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  protected prepare(sql: string): StatementSync {
    return this.connection.prepare(sql);
  }
}
