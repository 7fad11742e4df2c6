import BelfryServer
import BelfryTesting

extension ServerResources {
    /// Opens what the settings name, such as `["data.directory": path]`, while no server works on it, and closes it.
    static func with<Value>(
        _ settings: [String: String], _ body: (ServerResources) async throws -> Value
    ) async throws -> Value {
        let resources = try await ServerResources(
            .load(flags: settings, environment: [:]), logger: CapturedLog().logger)
        let result = await Result { try await body(resources) }
        try await resources.close()
        return try result.get()
    }
}
