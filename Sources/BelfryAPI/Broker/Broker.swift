import BelfryService
import FoundationEssentials

/// The Open Service Broker API 2.17, by which platforms such as Cloud Foundry order applications of Belfry.
///
/// Source: github.com/openservicebrokerapi/servicebroker, v2.17, spec.md. Everything is done at once, so there are no last
/// operations to ask for.
package enum Broker {
    /// The broker's credentials, and its description of this installation.
    package struct Options: Sendable {
        package let user: String
        /// SHA-256 of the password.
        package let passwordHash: [UInt8]
        /// The address to which bound applications send their pushes.
        package let apiURL: String

        package init(user: String, password: String, apiURL: String) {
            self.user = user
            passwordHash = SecretHash.of(password)
            self.apiURL = apiURL
        }
    }

    static let root = "broker/v2"
    static let serviceID = "7c1f0d0e-52a4-4a2b-9d6c-6f0a6b1f6a01"
    /// A body of the broker is small.
    static let bodyBytesMax = 65_536
    static let idCharactersMax = 255
}

extension BrokerPlan {
    /// Told in the catalogue, and never changed.
    var id: String {
        switch self {
        case .application: "7c1f0d0e-52a4-4a2b-9d6c-6f0a6b1f6a02"
        case .tenant: "7c1f0d0e-52a4-4a2b-9d6c-6f0a6b1f6a03"
        }
    }

    init?(id: String) {
        guard let plan = Self.allCases.first(where: { $0.id == id }) else { return nil }
        self = plan
    }

    private var summary: String {
        switch self {
        case .application: "An application beside others, with the quotas of an application"
        case .tenant: "An application in a tenant of its own, whose keys, shares and audit log are its own"
        }
    }

    fileprivate var json: JSONValue {
        .object([
            "id": .string(id), "name": .string(rawValue), "description": .string(summary), "free": .bool(true),
            "bindable": .bool(true),
            "schemas": .object([
                "service_instance": .object([
                    "create": .object(["parameters": Broker.parameters]),
                    "update": .object(["parameters": Broker.parameters]),
                ])
            ]),
        ])
    }
}

extension Broker {
    /// The JSON schema of what an instance takes.
    fileprivate static let parameters = JSONValue.object([
        "$schema": .string("http://json-schema.org/draft-04/schema#"), "type": .string("object"),
        "additionalProperties": .bool(false),
        "properties": .object([
            "name": .object([
                "type": .string("string"), "minLength": .integer(1), "maxLength": .integer(255),
                "description": .string("What people call the application"),
            ])
        ]),
    ])

    static let catalog = JSONValue.object([
        "services": .array([
            .object([
                "id": .string(serviceID), "name": .string("belfry"),
                "description": .string("Push notifications to mobile devices and browsers"),
                "tags": .strings(["push", "notifications", "mobile"]), "bindable": .bool(true),
                "instances_retrievable": .bool(true), "bindings_retrievable": .bool(true),
                "plan_updateable": .bool(false), "plans": .array(BrokerPlan.allCases.map(\.json)),
            ])
        ])
    ])
}
