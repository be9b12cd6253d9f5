/** The current network ranges and the descriptions of their lists. For a WITH clause. */
export const NETWORKS = `
      service_ranges AS (
        SELECT 1 AS one, first, last, list_id FROM network_ranges
        WHERE kind = 'service' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'service')),
      actor_ranges AS (
        SELECT 1 AS one, first, last, list_id FROM network_ranges
        WHERE kind = 'actor' AND generation = (SELECT max(generation) FROM network_generations WHERE kind = 'actor')),
      lists AS (SELECT * FROM network_lists FINAL)`;

/** The distinct addresses of the parameter `ips`. */
export const REQUESTED =
  "(SELECT DISTINCT arrayJoin({ips:Array(IPv4)}) AS ip, toUInt32(ip) AS number, 1 AS one) AS requested";

/**
 * Joins each address in `requested` with the list in whose networks it is. The range that starts last before the
 * address is the only candidate, because ranges are disjoint.
 */
export const WITH_NETWORKS = `
    ASOF LEFT JOIN service_ranges AS service_range ON service_range.one = requested.one AND requested.number >= service_range.first
    ASOF LEFT JOIN actor_ranges AS actor_range ON actor_range.one = requested.one AND requested.number >= actor_range.first
    LEFT JOIN (SELECT * FROM lists WHERE kind = 'service') AS service
      ON service.list_id = if(requested.number <= service_range.last, service_range.list_id, '')
    LEFT JOIN (SELECT * FROM lists WHERE kind = 'actor') AS actor
      ON actor.list_id = if(requested.number <= actor_range.last, actor_range.list_id, '')`;

export const NETWORK_COLUMNS = `
      service.name AS service,
      service.category AS service_category,
      service.description AS service_description,
      service.explanation AS service_explanation,
      service.reference AS service_reference,
      service.trust_level AS service_trust_level,
      toUnixTimestamp64Milli(service.refreshed_at) AS service_refreshed_at,
      actor.name AS actor`;
