import BelfryService

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
            guard let text = value.stringValue else {
                throw InvalidInput(field: "parameters.name", "has to be a string, it is \(value.typeName)")
            }
            return try Name(text)
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
