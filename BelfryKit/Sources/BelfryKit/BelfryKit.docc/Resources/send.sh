belfry push --app APP_UUID --topic news --body "Hello" --follow
