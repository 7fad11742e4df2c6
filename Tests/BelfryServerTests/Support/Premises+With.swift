import BelfryServer
import BelfryTesting

extension Premises {
    /// Opens what the settings name, such as `["data.directory": path]`, while no server works on it, and closes it.
    static func with<Value>(
        _ settings: [String: String], _ body: (Premises) async throws -> Value
    ) async throws -> Value {
        let premises = try await Premises(.load(flags: settings, environment: [:]), logger: LogBook().logger)
        let result = await Result { try await body(premises) }
        try await premises.close()
        return try result.get()
    }
}
