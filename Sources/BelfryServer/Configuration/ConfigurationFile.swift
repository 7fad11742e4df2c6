import BelfryCore
import FoundationEssentials

/// The settings of a JSON file: objects within objects, whose names with dots between them are the keys.
///
/// `{"http": {"port": 8443}}` and `{"http.port": 8443}` mean the same. A list of texts stands for them with commas between.
struct ConfigurationFile {
    let path: String
    let values: [String: String]
    /// What is wrong with single values, a line each.
    let faults: [String]

    private static let bytesMax = 1 << 20

    /// Throws `ConfigurationFaults` when the file cannot be read or is not a JSON object.
    init(path: String) throws {
        let path = path.absolutePath
        self.path = path
        guard let bytes = FileManager.default.contents(atPath: path) else {
            let isThere = FileManager.default.fileExists(atPath: path)
            throw ConfigurationFaults(lines: [
                "the configuration file \(path) "
                    + (isThere ? "cannot be read" : "is not there (--config, BELFRY_CONFIG_FILE)")
            ])
        }
        guard bytes.count <= Self.bytesMax else {
            throw ConfigurationFaults(
                lines: ["the configuration file \(path) has \(bytes.count) bytes, it may have \(Self.bytesMax)"])
        }
        let file: JSONValue
        do {
            file = try JSONValue(json: bytes, field: "body")
        } catch {
            throw ConfigurationFaults(lines: ["the configuration file \(path) \(error.problem)"])
        }
        guard case .object(let members) = file else {
            throw ConfigurationFaults(lines: ["the configuration file \(path) holds \(file.typeName), not an object"])
        }
        var reading = Reading()
        for (name, value) in members.sorted(by: { $0.key < $1.key }) { reading.read(value, key: name) }
        values = reading.values
        faults = reading.faults.map { "\($0), in \(path)" }
    }

    private struct Reading {
        var values: [String: String] = [:]
        var faults: [String] = []

        mutating func read(_ value: JSONValue, key: String) {
            switch value {
            case .object(let members):
                for (name, value) in members.sorted(by: { $0.key < $1.key }) { read(value, key: "\(key).\(name)") }
            case .array(let elements):
                let texts = elements.compactMap(\.stringValue)
                guard texts.count == elements.count else {
                    faults.append("\(key) is a list of something else than texts")
                    return
                }
                values[key] = texts.joined(separator: ",")
            case .string(let text): values[key] = text
            case .integer(let integer): values[key] = "\(integer)"
            case .number(let number): values[key] = "\(number)"
            case .bool(let bool): values[key] = "\(bool)"
            case .null: break
            }
        }
    }
}
