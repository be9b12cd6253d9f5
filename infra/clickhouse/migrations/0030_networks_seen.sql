-- When each address of a scope was last seen in each network and country that its observations name.
CREATE VIEW IF NOT EXISTS networks_seen SQL SECURITY INVOKER AS
SELECT dataset, workspace_id, asn, organization, country, source_ip, max(address_networks.last_seen) AS last_seen
FROM address_networks
GROUP BY dataset, workspace_id, asn, organization, country, source_ip
