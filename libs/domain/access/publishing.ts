import { DATASETS, type Dataset, GLOBAL_SCOPE, type Scope } from "./scope.ts";

/** The datasets that belong to no workspace. */
const SHARED_DATASETS: readonly Dataset[] = ["global", "community"];

/**
 * Where a sender may write: everywhere (the Kafka topic and files, which the operator protects), the shared datasets (a
 * key in SENSOR_KEYS), or one scope (a key in the table of sensor keys).
 */
export type PublishRight = "everything" | "shared-datasets" | Scope;

/** The sender of observations, as its key describes it. */
export type Sender = {
  readonly right: PublishRight;
  /** Absent for sources without keys, such as Kafka and files. */
  readonly keyId?: string | undefined;
  /** The one sensor that the key is for; absent when the key may send for any. */
  readonly sensorId?: string | undefined;
};

/**
 * The key within which observation ids are unique; undefined when they are unique within their sensor. A key that may
 * send for any sensor has a namespace of its own, else it could overwrite the observations of another key's sensor.
 */
export function idNamespaceOf({ keyId, sensorId }: Sender): string | undefined {
  return sensorId === undefined ? keyId : undefined;
}

/** A right as dead letters store it: `everything`, `shared-datasets`, or a scope as `dataset/workspace`. */
export function formatRight(right: PublishRight): string {
  return typeof right === "string" ? right : `${right.dataset}/${right.workspaceId}`;
}

/** Reads what {@link formatRight} writes; undefined for any other text. */
export function parseRight(text: string): PublishRight | undefined {
  if (text === "everything" || text === "shared-datasets") return text;
  const [name = "", workspaceId, ...rest] = text.split("/");
  const dataset = DATASETS.find((candidate) => candidate === name);
  return dataset === undefined || workspaceId === undefined || rest.length > 0 ? undefined : { dataset, workspaceId };
}

/** The members of an observation that state its scope. */
export type StatedScope = {
  readonly dataset?: Dataset | undefined;
  readonly workspace_id?: string | undefined;
};

export type ScopeRejection = {
  readonly reason: "not-permitted" | "invalid-observation";
  /** One sentence for the operator of the sensor. */
  readonly detail: string;
};

/**
 * The scope in which to store an observation: the stated one, completed from its sender's right (global for a right to
 * several scopes). Only this function decides who may write where. It never changes what is stated: a sensor with the
 * wrong key gets a rejection, instead of its data appearing in another scope.
 */
export function scopeToPublish(stated: StatedScope, right: PublishRight): Scope | ScopeRejection {
  const fallback = typeof right === "string" ? GLOBAL_SCOPE : right;
  const scope = {
    dataset: stated.dataset ?? fallback.dataset,
    workspaceId: stated.workspace_id ?? fallback.workspaceId,
  };
  if (!includesScope(right, scope)) {
    return {
      reason: "not-permitted",
      detail: `the sender may publish to ${describeRight(right)}, but the observation states ${formatStated(stated)}`,
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

/** The sensor of an observation: the stated one, else the one that its sender's key is for. */
export function sensorToPublish(stated: string | undefined, ofKey: string | undefined): string | ScopeRejection {
  if (stated === undefined) return ofKey ?? { reason: "invalid-observation", detail: "sensor_id: is missing" };
  if (ofKey === undefined || ofKey === stated) return stated;
  return {
    reason: "not-permitted",
    detail: `the sender's key was made for the sensor "${ofKey}", but the observation states sensor_id "${stated}"`,
  };
}

function includesScope(right: PublishRight, scope: Scope): boolean {
  if (right === "everything") return true;
  if (right === "shared-datasets") return SHARED_DATASETS.includes(scope.dataset);
  return right.dataset === scope.dataset && right.workspaceId === scope.workspaceId;
}

function describeRight(right: PublishRight): string {
  if (right === "everything") return "everything";
  if (right === "shared-datasets") {
    return `the datasets ${SHARED_DATASETS.join(" and ")} only (personal data takes a sensor key of its workspace)`;
  }
  const whose = right.workspaceId === "" ? "" : ` of the workspace "${right.workspaceId}"`;
  return `the ${right.dataset} dataset${whose} only`;
}

function formatStated({ dataset, workspace_id }: StatedScope): string {
  const members = Object.entries({ dataset, workspace_id }).filter(([, value]) => value !== undefined);
  return members.map(([name, value]) => `${name} "${value}"`).join(" and ");
}
