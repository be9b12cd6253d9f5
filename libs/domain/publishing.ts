import { DATASETS, type Dataset, type Scope, SHARED_GLOBAL } from "./scope.ts";

/** The datasets that belong to nobody in particular. */
const SHARED_DATASETS: readonly Dataset[] = ["global", "community"];

/**
 * Where a publisher may write: everywhere (the Kafka topic and files, which whoever runs the service guards), the
 * shared datasets, or exactly one scope, as a sensor key of the store says.
 */
export type PublishRight = "everything" | "shared-datasets" | Scope;

/** Who sends observations, as far as its key says. */
export type Sender = {
  readonly right: PublishRight;
  /** Which key it showed; left out when none was asked for. */
  readonly keyId?: string | undefined;
  /** The one sensor that the key was made for; left out when the key may send for any. */
  readonly sensorId?: string | undefined;
};

/**
 * The key within which an observation id is unique, or undefined where it is unique to its sensor alone. Under a key that
 * may send for any sensor, ids are the key's own: else one key could overwrite what another key's sensor sent.
 */
export function idNamespaceOf({ keyId, sensorId }: Sender): string | undefined {
  return sensorId === undefined ? keyId : undefined;
}

/** A right as it is kept beside what it judged: `everything`, `shared-datasets`, or a scope as `dataset/workspace`. */
export function formatRight(right: PublishRight): string {
  return typeof right === "string" ? right : `${right.dataset}/${right.workspaceId}`;
}

/** The right behind such a text; undefined when it is none. */
export function parseRight(text: string): PublishRight | undefined {
  if (text === "everything" || text === "shared-datasets") return text;
  const [name = "", workspaceId, ...rest] = text.split("/");
  const dataset = DATASETS.find((candidate) => candidate === name);
  return dataset === undefined || workspaceId === undefined || rest.length > 0 ? undefined : { dataset, workspaceId };
}

/** What an observation itself says of where it belongs. */
export type StatedScope = {
  readonly dataset?: Dataset | undefined;
  readonly workspace_id?: string | undefined;
};

export type ScopeRejection = {
  readonly reason: "not-permitted" | "invalid-observation";
  /** One sentence for the person who runs the sensor. */
  readonly detail: string;
};

/**
 * The scope that an observation belongs to: the one it states, and where it states nothing the one of its publisher's
 * right, which is global for those not bound to one scope. This is the one place that decides who may write where. What
 * is stated is never rewritten: a sensor with the wrong key must hear of it, not find its data elsewhere.
 */
export function scopeToPublish(stated: StatedScope, right: PublishRight): Scope | ScopeRejection {
  const home = typeof right === "string" ? SHARED_GLOBAL : right;
  const scope = { dataset: stated.dataset ?? home.dataset, workspaceId: stated.workspace_id ?? home.workspaceId };
  if (!covers(right, scope)) {
    return {
      reason: "not-permitted",
      detail: `the sender may publish to ${nameOf(right)}, but the observation states ${statement(stated)}`,
    };
  }
  const isPersonal = scope.dataset === "personal";
  if (isPersonal !== (scope.workspaceId !== "")) {
    return {
      reason: "invalid-observation",
      detail: `workspace_id is ${isPersonal ? "required for" : "only allowed in"} the personal dataset`,
    };
  }
  return scope;
}

/** The sensor that an observation is of: the one it states, else the one that its sender's key was made for. */
export function sensorToPublish(stated: string | undefined, own: string | undefined): string | ScopeRejection {
  if (stated === undefined) return own ?? { reason: "invalid-observation", detail: "sensor_id: is missing" };
  if (own === undefined || own === stated) return stated;
  return {
    reason: "not-permitted",
    detail: `the sender's key was made for the sensor "${own}", but the observation states sensor_id "${stated}"`,
  };
}

function covers(right: PublishRight, scope: Scope): boolean {
  if (right === "everything") return true;
  if (right === "shared-datasets") return SHARED_DATASETS.includes(scope.dataset);
  return right.dataset === scope.dataset && right.workspaceId === scope.workspaceId;
}

function nameOf(right: PublishRight): string {
  if (right === "everything") return "everything";
  if (right === "shared-datasets") {
    return `the datasets ${SHARED_DATASETS.join(" and ")} only (personal data takes a sensor key of its workspace)`;
  }
  const whose = right.workspaceId === "" ? "" : ` of the workspace "${right.workspaceId}"`;
  return `the ${right.dataset} dataset${whose} only`;
}

function statement({ dataset, workspace_id }: StatedScope): string {
  const members = Object.entries({ dataset, workspace_id }).filter(([, value]) => value !== undefined);
  return members.map(([name, value]) => `${name} "${value}"`).join(" and ");
}
