package import BelfryService
import FoundationEssentials
import KeyFiles

extension APNsPlatformCredentials {
    package static let fields = [
        "topic", "apns_key", "key_id", "team_id", "apns_certificate", "passphrase", "endpoint", "trust_root",
        "channels_endpoint",
    ]

    /// Reads entered fields: `topic` with `apns_key` (PEM), `key_id` and `team_id`, or with `apns_certificate` (a p12
    /// in Base64) and `passphrase`. `endpoint`, `channels_endpoint` and `trust_root` (PEM) are for tests.
    package init(entered: [String: JSONValue]) throws(InvalidInput) {
        let fields = try EnteredFields(entered, of: "APNs", known: Self.fields)
        var values: [String: String] = [:]
        for field in Self.fields { values[field] = try fields.textIfAny(field) }
        guard let topic = values["topic"] else { throw InvalidInput(field: "topic", "is missing") }
        self.init(
            identity: try Identity(values), topic: topic, endpoint: values["endpoint"],
            trustRootsPEM: values["trust_root"], channelsEndpoint: values["channels_endpoint"])
    }

    package var unguardedAddresses: [String] {
        ["endpoint": endpoint, "channels_endpoint": channelsEndpoint].filter { $1 != nil }.keys.sorted()
    }

    /// The fields that would make these credentials; what was opened is not given again.
    package var entered: [String: JSONValue] {
        var values = ["topic": topic]
        values["endpoint"] = endpoint
        values["trust_root"] = trustRootsPEM
        values["channels_endpoint"] = channelsEndpoint
        switch identity {
        case .key(let p8, let keyID, let teamID):
            values["apns_key"] = p8
            values["key_id"] = keyID
            values["team_id"] = teamID
        case .certificate(let p12, let passphrase):
            values["apns_certificate"] = Data(p12).base64EncodedString()
            values["passphrase"] = passphrase
        case .pair: break
        }
        return values.mapValues { .string($0) }
    }
}

extension APNsPlatformCredentials.Identity {
    fileprivate init(_ values: [String: String]) throws(InvalidInput) {
        switch (values["apns_key"], values["apns_certificate"]) {
        case (let p8?, nil):
            try values.refuse("passphrase", because: "is that of apns_certificate, apns_key has none")
            guard let keyID = values["key_id"], let teamID = values["team_id"] else {
                throw InvalidInput(field: "apns_key", "needs key_id and team_id")
            }
            // Apple's have capital letters alone.
            self = .key(p8: p8, keyID: keyID.asName.uppercased(), teamID: teamID.asName.uppercased())
        case (nil, let p12?):
            for field in ["key_id", "team_id"] { try values.refuse(field, because: "goes with apns_key alone") }
            // PEM is recognized where the file is opened.
            guard let bytes = p12.contains("-----BEGIN ") ? Array(p12.utf8) : Base64Text.decode(p12.utf8) else {
                throw InvalidInput(field: "apns_certificate", "is not Base64")
            }
            self = .certificate(p12: bytes, passphrase: values["passphrase"] ?? "")
        case (nil, nil): throw InvalidInput(field: "apns_key", "or apns_certificate is missing")
        case (_?, _?): throw InvalidInput(field: "apns_key", "and apns_certificate exclude each other")
        }
    }
}

extension [String: String] {
    /// Throws `InvalidInput` when a field was entered that has no meaning.
    fileprivate func refuse(_ field: String, because problem: String) throws(InvalidInput) {
        if self[field] != nil { throw InvalidInput(field: field, problem) }
    }
}
