// A Nest application on Express, or on Fastify: `main.js fastify`.

import { Body, Controller, HttpCode, Module, Param, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Client } from "perdure";
import { PerdureModule } from "perdure/nest";
import { options, port } from "../shared/orders.ts";
import * as orders from "./orders.ts";
import { Gateway, Payments } from "./payments.ts";

@Controller("orders")
class Orders {
  constructor(private readonly client: Client) {}

  @Post(":id")
  @HttpCode(200)
  async start(@Param("id") id: string, @Body() input: { cents: number }): Promise<{ id: string }> {
    const handle = await this.client.start(orders.order, input, { id });
    return { id: handle.id };
  }
}

@Module({
  imports: [
    PerdureModule.forRootAsync({
      useFactory: () => ({
        ...options,
        register: [orders],
        context: ({ headers }) => ({ tenant: String(headers["x-tenant"]) }),
      }),
    }),
  ],
  controllers: [Orders],
  providers: [Payments, Gateway],
})
class AppModule {}

const app =
  process.argv[2] === "fastify"
    ? await NestFactory.create(AppModule, new FastifyAdapter())
    : await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(port(), "127.0.0.1");
