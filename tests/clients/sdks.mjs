// The official clients of JavaScript against a server: what they read, as one line of JSON. BASE is its address,
// MODEL its model; packages are found beside this file or in NODE_PATH's folder.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const folder = process.env.CLIENT_PACKAGES;
const require = createRequire(path.join(folder, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const base = process.env.BASE;
const model = process.env.MODEL;
const words = "the and for this that with return you";
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const out = {};

const { default: OpenAI } = await load("openai");
const client = new OpenAI({ baseURL: base + "/v1", apiKey: "none", maxRetries: 2 });

out.models = (await client.models.list()).data.map((card) => card.id);

{
  const stream = await client.chat.completions.create({
    model, messages: [{ role: "user", content: words }], max_tokens: 7, stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let usage = null;
  for await (const event of stream) {
    text += event.choices[0]?.delta?.content ?? "";
    usage = event.usage ?? usage;
  }
  out.chat = { words: text.split(" ").length, usage };
}
{
  const answer = await client.chat.completions.create({
    model, messages: [{ role: "user", content: words }],
    tools: [{ type: "function", function: { name: "weather", parameters: schema } }], tool_choice: "required",
  });
  const call = answer.choices[0].message.tool_calls[0];
  out.tool = { name: call.function.name, arguments: JSON.parse(call.function.arguments),
    finish: answer.choices[0].finish_reason };
}
{
  const answer = await client.chat.completions.parse({
    model, messages: [{ role: "user", content: words }],
    response_format: { type: "json_schema", json_schema: { name: "r", schema, strict: true } },
  });
  out.schema = JSON.parse(answer.choices[0].message.content);
}
{
  const answer = await client.responses.create({ model, input: words, max_output_tokens: 6 });
  out.response = { words: answer.output_text.split(" ").length, status: answer.status, usage: answer.usage.output_tokens };
  const stream = await client.responses.create({ model, input: words, max_output_tokens: 6, stream: true });
  const types = [];
  let text = "";
  for await (const event of stream) {
    types.push(event.type);
    text += event.type === "response.output_text.delta" ? event.delta : "";
  }
  out.response_stream = { words: text.split(" ").length, first: types[0], last: types.at(-1) };
}
{
  const control = new AbortController();
  const stream = await client.chat.completions.create(
    { model, messages: [{ role: "user", content: words }], max_tokens: 100000, stream: true },
    { signal: control.signal });
  let events = 0;
  try {
    for await (const event of stream) {
      if (++events === 5) control.abort();
    }
  } catch (error) {
    out.abort_error = error.name;
  }
  out.abort = events;
}
{
  const { streamText, generateText, tool, jsonSchema } = await load("ai");
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({ name: "ridgeline", baseURL: base + "/v1", apiKey: "none", includeUsage: true });
  const result = streamText({ model: provider(model), prompt: words, maxOutputTokens: 9 });
  let text = "";
  for await (const part of result.textStream) text += part;
  out.ai = { words: text.split(" ").length, usage: (await result.usage).outputTokens, finish: await result.finishReason };
  const called = await generateText({
    model: provider(model), prompt: words, toolChoice: "required",
    tools: { weather: tool({ description: "w", inputSchema: jsonSchema(schema) }) },
  });
  out.ai_tool = called.toolCalls.map((call) => [call.toolName, call.input]);
}
{
  const { ChatOpenAI } = await load("@langchain/openai");
  const chat = new ChatOpenAI({ model, apiKey: "none", maxTokens: 8, configuration: { baseURL: base + "/v1" } });
  let text = "";
  for await (const part of await chat.stream(words)) text += part.content;
  out.langchain = text.split(" ").length;
  const bound = chat.bindTools([{ type: "function", function: { name: "weather", description: "w", parameters: schema } }],
    { tool_choice: "weather" });
  out.langchain_tool = (await bound.invoke(words)).tool_calls.map((call) => [call.name, call.args]);
}
{
  const { default: Anthropic } = await load("@anthropic-ai/sdk");
  const messages = new Anthropic({ baseURL: base, apiKey: "none" }).messages;
  const ask = { model, max_tokens: 6, messages: [{ role: "user", content: words }] };
  const stream = messages.stream(ask);
  let deltas = 0;
  stream.on("text", () => ++deltas);
  const whole = await stream.finalMessage();
  out.anthropic = { deltas, words: whole.content[0].text.split(" ").length, stop: whole.stop_reason,
    usage: whole.usage.output_tokens };
  const called = await messages.create({ ...ask, max_tokens: 100, tool_choice: { type: "any" },
    tools: [{ name: "weather", input_schema: schema }] });
  out.anthropic_tool = called.content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]);
  try {
    await messages.create({ ...ask, model: "no-such" });
  } catch (error) {
    out.anthropic_error = [error.constructor.name, error.status];
  }
}
console.log(JSON.stringify(out));
