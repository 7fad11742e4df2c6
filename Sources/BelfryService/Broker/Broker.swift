import FoundationEssentials
import HTTPTypes
import Hummingbird

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

extension Broker {
    /// An answer other than the one hoped for.
    struct Refusal: Error {
        let status: HTTPResponse.Status
        /// One of the specification's codes; nil where it has none.
        var code: String?
        let description: String

        init(_ status: HTTPResponse.Status, code: String? = nil, _ description: String) {
            self.status = status
            self.code = code
            self.description = description
        }

        /// The reply that an error becomes.
        init(cause: any Error, isDeletion: Bool) {
            switch cause {
            case let refusal as Refusal: self = refusal
            case BrokerError.gone:
                self.init(isDeletion ? .gone : .notFound, "There is no such service instance or binding")
            case BrokerError.conflict(let words): self.init(.conflict, words)
            case BrokerError.busy:
                self.init(
                    .unprocessableContent, code: "ConcurrencyError",
                    "What belongs to the service instance is still being cleared away; try again")
            default:
                let error = APIError(cause: cause)
                self.init(error.status, error.message)
            }
        }

        var response: Response {
            var members: JSONObject = ["description": .string(description)]
            members["error"] = code.map(JSONValue.string)
            return Response(status: status, broker: .object(members))
        }
    }
}

extension Response {
    init(status: HTTPResponse.Status = .ok, broker body: JSONValue) {
        self.init(status: status, json: ByteBuffer(bytes: body.encoded))
    }
}

extension Broker {
    /// The body of a request that makes or changes something. Fields that the specification does not know are ignored, as it
    /// demands.
    struct Body: Sendable {
        private(set) var service: String?
        private(set) var plan: String?
        private(set) var organization: String?
        private(set) var space: String?
        private(set) var parameters: JSONObject = [:]
        /// The platform's name for the instance; nil where it sends none.
        private(set) var instanceName: String?
        private(set) var maintenanceVersion: String?

        init(_ bytes: [UInt8]) throws(InvalidInput) {
            var body = self
            try JSONReader.document(bytes) { reader, field throws(InvalidInput) in try body.read(field, from: &reader) }
            self = body
        }

        private mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "service_id": service = try reader.string(field)
            case "plan_id": plan = try reader.string(field)
            case "organization_guid": organization = try reader.string(field)
            case "space_guid": space = try reader.string(field)
            case "parameters": parameters = try reader.members(field) ?? [:]
            case "context": instanceName = try reader.value(field)["instance_name"]?.stringValue
            case "maintenance_info": maintenanceVersion = try reader.value(field)["version"]?.stringValue
            default: try reader.skip()
            }
        }

        /// Throws on a service or a plan that the catalogue does not have.
        func checkedPlan() throws(InvalidInput) -> BrokerPlan {
            try Broker.plan(service: service, plan: plan)
        }

        /// The application's name in the parameters; nil where they have none.
        func name() throws(InvalidInput) -> Name? {
            for key in parameters.keys.sorted() where key != "name" {
                throw InvalidInput(field: "parameters.\(key)", "is no parameter, there is name alone")
            }
            guard let value = parameters["name"] else { return nil }
            return try Name(try value.demandText("parameters.name"), field: "parameters.name")
        }

        /// The values by which two requests are compared: context and bindings' apps may differ.
        var attributes: String {
            JSONValue.object([
                "organization_guid": organization.map(JSONValue.string) ?? .null,
                "space_guid": space.map(JSONValue.string) ?? .null, "parameters": .object(parameters),
            ]).sorted.storedText
        }
    }

    static func plan(service: String?, plan: String?) throws(InvalidInput) -> BrokerPlan {
        guard let service, !service.isEmpty else { throw InvalidInput.missing("service_id") }
        guard service == serviceID else { throw InvalidInput(field: "service_id", "is no service of the catalogue") }
        guard let plan, !plan.isEmpty else { throw InvalidInput.missing("plan_id") }
        guard let known = BrokerPlan(id: plan) else {
            throw InvalidInput(field: "plan_id", "is no plan of the catalogue")
        }
        return known
    }
}
