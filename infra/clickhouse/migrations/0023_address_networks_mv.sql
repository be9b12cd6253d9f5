CREATE MATERIALIZED VIEW IF NOT EXISTS address_networks_mv TO address_networks AS
SELECT
    dataset,
    workspace_id,
    asn,
    organization,
    country,
    source_ip,
    max(observed_at) AS last_seen
FROM observations
GROUP BY dataset, workspace_id, asn, organization, country, source_ip
