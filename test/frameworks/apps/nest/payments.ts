// A provider whose method is an activity. It injects another provider, and the client of the runtime that runs it.

import { Injectable } from "@nestjs/common";
import { Client, type ActivityContext } from "perdure";
import { Activity } from "perdure/nest";
import { chargeCard, type Payment } from "../shared/orders.ts";
import { charge } from "./orders.ts";

@Injectable()
export class Gateway {
  readonly charge = chargeCard;
}

@Injectable()
export class Payments {
  constructor(
    private readonly gateway: Gateway,
    private readonly client: Client,
  ) {}

  @Activity(charge)
  async charge(payment: Payment, ctx: ActivityContext): Promise<string> {
    const { status } = await this.client.get(payment.id).describe();
    if (status !== "running") throw new Error(`order ${payment.id} is ${status}`);
    return this.gateway.charge(payment, ctx);
  }
}
