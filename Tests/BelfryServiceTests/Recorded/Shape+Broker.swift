import HTTPTypes

// The answers of a service broker. Source: the schemas of openapi.yaml in github.com/openservicebrokerapi/servicebroker, with the
// fields that spec.md of 2.17 has besides.

extension Shape {
    /// The shape of a broker's answer, by the specification.
    static func broker(_ method: HTTPRequest.Method, _ path: String, _ status: Int) -> Shape {
        guard status < 300 else { return brokerError }
        let isBinding = path.contains("service_bindings")
        switch method {
        case .get where path == "catalog": return catalog
        case .get: return isBinding ? .binding(orMore: ["parameters": .map(.anything)]) : serviceInstance
        case .put where isBinding: return .binding()
        case .delete: return .object([:], optional: ["operation": .string])
        default:
            return .object(
                [:], optional: ["dashboard_url": .string, "operation": .string, "metadata": .map(.anything)])
        }
    }

    private static let brokerError = Shape.object(
        [:],
        optional: ["error": .string, "description": .string, "instance_usable": .bool, "update_repeatable": .bool])

    private static let catalog = Shape.object([
        "services": .array(
            .object(
                ["name": .string, "id": .string, "description": .string, "bindable": .bool, "plans": .array(plan)],
                optional: [
                    "tags": .array(.string),
                    "requires": .array(.word(["syslog_drain", "route_forwarding", "volume_mount"])),
                    "metadata": .map(.anything), "plan_updateable": .bool, "instances_retrievable": .bool,
                    "bindings_retrievable": .bool, "allow_context_updates": .bool,
                    "dashboard_client": .object(
                        [:], optional: ["id": .string, "secret": .string, "redirect_uri": .string]),
                ]))
    ])

    private static let plan = Shape.object(
        ["id": .string, "name": .string, "description": .string],
        optional: [
            "metadata": .map(.anything), "free": .bool, "bindable": .bool, "binding_rotatable": .bool,
            "plan_updateable": .bool, "maximum_polling_duration": .integer,
            "maintenance_info": .object(["version": .string], optional: ["description": .string]),
            "schemas": .object(
                [:],
                optional: [
                    "service_instance": .object([:], optional: ["create": parameters, "update": parameters]),
                    "service_binding": .object([:], optional: ["create": parameters]),
                ]),
        ])

    /// A JSON schema, as an object.
    private static let parameters = Shape.object([:], optional: ["parameters": .map(.anything)])

    private static let serviceInstance = Shape.object(
        [:],
        optional: [
            "service_id": .string, "plan_id": .string, "dashboard_url": .string, "parameters": .map(.anything),
            "maintenance_info": .map(.anything), "metadata": .map(.anything),
        ])

    private static func binding(orMore more: [String: Shape] = [:]) -> Shape {
        let fields: [String: Shape] = [
            "credentials": .map(.anything), "syslog_drain_url": .string, "route_service_url": .string,
            "volume_mounts": .array(.map(.anything)), "endpoints": .array(.map(.anything)), "operation": .string,
            "metadata": .map(.anything),
        ]
        return .object([:], optional: fields.merging(more) { first, _ in first })
    }
}
