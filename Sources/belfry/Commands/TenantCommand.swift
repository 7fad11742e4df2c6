import ArgumentParser
import BelfryServer
import BelfryService
import FoundationEssentials

struct TenantCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tenant", abstract: "Create and list tenants, on this machine.",
        subcommands: [Create.self, List.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a tenant.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions
        @Option(help: "The display name.") var name: String

        func run() async throws {
            let tenant = try await common.withOperatorService {
                try await $0.createTenant(name: try Name(name))
            }
            try output.show(Admin.TenantReply(tenant), [("tenant_uuid", tenant.uuid.lowercased)])
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List all tenants.")

        @OptionGroup var common: CommonOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            let rows = try await common.withOperatorService { try await $0.tenants().map(Admin.TenantReply.init) }
            try output.show(rows, ["tenant_uuid", "name", "created_at"]) { [$0.tenant_uuid, $0.name, $0.created_at] }
        }
    }
}
