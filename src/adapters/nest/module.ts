// PerdureModule: the module that an application imports. It is global: `Perdure`, `Client` and `PerdureNest` can be injected
// everywhere.

import { Inject } from "@nestjs/common";
import { APP_INTERCEPTOR, DiscoveryModule, DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { Client } from "../../client/client.ts";
import { checkFunction, checkMembers, type Members } from "../../core/checks.ts";
import { Perdure } from "../../perdure.ts";
import type { Discovery } from "./discovery.ts";
import { PerdureNest, type HttpHost, type NestOptions, type NestRequest } from "./host.ts";

/** Options of `PerdureModule.forRootAsync`: a factory with injection, as other Nest modules have it. */
export interface NestAsyncOptions<Injected extends unknown[], Incoming extends NestRequest> {
  /** Modules that export what `inject` names. */
  readonly imports?: readonly unknown[];
  /** The tokens of the arguments of `useFactory`. */
  readonly inject?: readonly unknown[];
  readonly useFactory: (
    ...injected: Injected
  ) => NestOptions<Incoming> | Promise<NestOptions<Incoming>>;
}
const ASYNC_OPTIONS: Members<NestAsyncOptions<unknown[], NestRequest>> = {
  imports: true,
  inject: true,
  useFactory: true,
};

/** A dynamic module, for `imports`. */
export interface PerdureDynamicModule {
  readonly module: typeof PerdureModule;
  readonly global: boolean;
}

/** The token of the options. */
const OPTIONS = Symbol("perdure options");

/** Runs Perdure in a Nest application. */
export class PerdureModule {
  readonly #host: PerdureNest;

  constructor(host: PerdureNest) {
    this.#host = host;
  }

  /** `Incoming` is the type of the request that `context` gets. */
  static forRoot<Incoming extends NestRequest = NestRequest>(
    options: NestOptions<Incoming>,
  ): PerdureDynamicModule {
    return moduleWith({ provide: OPTIONS, useValue: options }, []);
  }

  /** Like `forRoot`, with options that depend on other providers. */
  static forRootAsync<Injected extends unknown[], Incoming extends NestRequest = NestRequest>(
    options: NestAsyncOptions<Injected, Incoming>,
  ): PerdureDynamicModule {
    checkMembers(options, ASYNC_OPTIONS, "PerdureModule.forRootAsync");
    const { imports = [], inject = [], useFactory } = options;
    checkFunction(useFactory, "useFactory of PerdureModule.forRootAsync");
    return moduleWith({ provide: OPTIONS, useFactory, inject }, imports);
  }

  /** Called by Nest before it adds the routes. */
  configure(): void {
    this.#host.mount();
  }
}
Inject(PerdureNest)(PerdureModule, undefined, 0);

function moduleWith(options: object, imports: readonly unknown[]): PerdureDynamicModule {
  const host = (given: NestOptions, discovery: Discovery, http: HttpHost) =>
    new PerdureNest(given, discovery, http);
  const dynamicModule = {
    module: PerdureModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      options,
      {
        provide: PerdureNest,
        useFactory: host,
        inject: [OPTIONS, DiscoveryService, HttpAdapterHost],
      },
      { provide: Perdure, useFactory: (app: PerdureNest) => app.open(), inject: [PerdureNest] },
      { provide: Client, useFactory: (app: PerdureNest) => app.client(), inject: [PerdureNest] },
      { provide: APP_INTERCEPTOR, useExisting: PerdureNest },
    ],
    exports: [PerdureNest, Perdure, Client],
  };
  return dynamicModule;
}
