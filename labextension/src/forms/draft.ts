/**
 * One form being filled in: its fields, what stands in them, the newest plan for it, and sending that plan.
 *
 * A plan is made whenever the user pauses. Agreement is for the plan that is shown; a change, or a plan that is too
 * old, takes it back. Nothing in here is ever stored.
 */

import { JSONObject } from '@lumino/coreutils';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { ABORTED, ApiError, asApiError, IApi, IProblem } from '../api';
import { ILookUp, IPlanned, ISent } from './answers';
import { ChoiceLists } from './choicelists';
import { toSpec } from './data';
import { adapt, ISchema } from './schema';
import { fetchFields, hasName, Target, wishOf } from './target';

const QUIET_MS = 500;

/** A plan is renewed this long before the server forgets it. */
const MARGIN_MS = 5_000;

/** The form's own field; where a spec has it too, it is the same. */
const NAME = 'name';

/** What follows a plan that can no longer be sent: the next one, to be agreed to again. */
const PLAN_AGAIN = new Set(['plan_expired', 'plan_used', 'consent']);

export interface IDraftOptions {
  api: IApi;
  target: Target;
  /** Accounts to choose from; the first is chosen. */
  accounts: readonly string[];
  quietMs?: number;
  /** Monotonic clock in ms. */
  now?: () => number;
}

export interface IFormFields {
  schema: ISchema;
  secrets: readonly string[];
  description: string | null;
}

export class Draft implements IDisposable {
  constructor(options: IDraftOptions) {
    this._options = options;
    this.target = options.target;
    this._account = options.target.account ?? options.accounts[0] ?? '';
    this._now = options.now ?? (() => performance.now());
    this.lists = this._newLists({});
    void this.load();
  }

  readonly target: Target;
  /** The choices of the fields. */
  lists: ChoiceLists;

  /** Emitted when anything here has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted when a plan was sent, whatever came of it. */
  get delivered(): ISignal<this, void> {
    return this._delivered;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  get account(): string {
    return this._account;
  }

  /** `null` until they have come, or when they cannot be had. */
  get fields(): IFormFields | null {
    return this._fields;
  }

  /** Why there are no fields. */
  get loadError(): ApiError | null {
    return this._loadError;
  }

  get name(): string {
    return this._name;
  }

  /** After how many hours a new cluster is to be deleted, as typed; empty for never. */
  get maxHours(): string {
    return this._maxHours;
  }
  set maxHours(value: string) {
    this._maxHours = value;
    this._touch();
  }

  get data(): JSONObject {
    return this._data;
  }

  /** Whether the user has written anything; before that, nothing is called wrong. */
  get isTouched(): boolean {
    return this._isTouched;
  }

  /** The newest plan, `null` while it is being made or when there can be none. */
  get planned(): IPlanned | null {
    return this._planned;
  }

  get isPlanning(): boolean {
    return this._isPlanning;
  }

  /** Why there is no plan. */
  get planError(): ApiError | null {
    return this._planError;
  }

  /** What is wrong with single fields. */
  get problems(): readonly IProblem[] {
    return this._planError?.problems ?? [];
  }

  get isAgreed(): boolean {
    return this._isAgreed;
  }
  set isAgreed(value: boolean) {
    this._isAgreed = value;
    this._emit();
  }

  /** The name as typed for what asks for words. */
  get words(): string {
    return this._words;
  }
  set words(value: string) {
    this._words = value;
    this._emit();
  }

  /** Whether a tick is not enough for the plan. */
  get asksForWords(): boolean {
    return this._planned?.ask === 'unknown_price' || this._planned?.ask === 'commitment';
  }

  get isSending(): boolean {
    return this._isSending;
  }

  get canSend(): boolean {
    const { _planned: planned } = this;
    return (
      planned !== null &&
      !this._isSending &&
      !this._isPlanning &&
      (planned.ask === 'nothing' || this._isAgreed) &&
      (!this.asksForWords || this._words === planned.plan.name)
    );
  }

  /** What came of sending. */
  get sent(): ISent | null {
    return this._sent;
  }

  get sendError(): ApiError | null {
    return this._sendError;
  }

  /** The plan was made anew although nothing was changed: look at it again. */
  get isRenewed(): boolean {
    return this._isRenewed;
  }

  chooseAccount(account: string): Promise<void> {
    this._account = account;
    return this.load();
  }

  rename(name: string): void {
    this._name = name;
    this._touch();
  }

  write(data: JSONObject): void {
    const before = JSON.stringify(this._spec());
    this._data = data;
    // The form tells of values that it only tidied up, too.
    if (JSON.stringify(this._spec()) === before) {
      this._emit();
    } else {
      this._touch();
    }
  }

  /** Get the fields (again). What was written stays. */
  async load(): Promise<void> {
    const account = this._account;
    this._stopPlanning();
    this._fields = this._loadError = this._sent = this._sendError = this._planError = null;
    this._emit();
    try {
      const { schema, lookUps, description } = await fetchFields(
        this._options.api,
        this.target,
        account
      );
      if (account === this._account && !this._isDisposed) {
        const omitted = hasName(this.target) ? [NAME] : [];
        this.lists.dispose();
        this.lists = this._newLists(lookUps);
        this._fields = { ...adapt(schema, omitted), description };
        this.lists.follow(this._spec());
        this.planSoon();
      }
    } catch (reason) {
      if (account === this._account) {
        this._loadError = asApiError(reason);
        this._emit();
      }
    }
  }

  /** Plan when the user pauses; whatever was planned before no longer counts. */
  planSoon(): void {
    this._stopPlanning();
    this._isPlanning = true;
    this._emit();
    this._timer = setTimeout(() => void this.plan(), this._options.quietMs ?? QUIET_MS);
  }

  /** Plan now. */
  async plan(): Promise<void> {
    this._stopPlanning();
    const request = (this._request = new AbortController());
    this._isPlanning = true;
    this._emit();
    try {
      const name = hasName(this.target) ? this._name.trim() || null : null;
      const hours = this._maxHours.trim() ? Number(this._maxHours) : null;
      const wish = wishOf(this.target, this._account, name, this._spec(), hours);
      const planned = await this._options.api.plan(wish, request.signal);
      if (request === this._request) {
        this._planned = planned;
        this._plannedAt = this._now();
        this._planError = null;
      }
    } catch (reason) {
      const error = asApiError(reason);
      if (request === this._request && error.code !== ABORTED) {
        this._planError = error;
      }
    } finally {
      if (request === this._request) {
        this._request = null;
        this._isPlanning = false;
        this._emit();
      }
    }
  }

  /** Send the plan that is shown, once; one that is too old is made again and must be agreed to again. */
  async send(): Promise<void> {
    const planned = this._planned;
    if (!planned || !this.canSend) {
      return;
    }
    if (this._now() - this._plannedAt > planned.valid_for_s * 1000 - MARGIN_MS) {
      await this._renew();
      return;
    }
    this._isSending = true;
    this._sendError = null;
    this._emit();
    try {
      const words = this.asksForWords ? this._words : null;
      const agreement = { agreed: planned.ask === 'nothing' || this._isAgreed, words };
      this._sent = await this._options.api.send(planned.plan_id, agreement);
      this._stopPlanning();
    } catch (reason) {
      await this._onSendError(asApiError(reason));
    } finally {
      this._isSending = false;
      this._emit();
      this._delivered.emit();
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._stopPlanning();
      this.lists.dispose();
      Signal.clearData(this);
    }
  }

  private async _onSendError(error: ApiError): Promise<void> {
    if (PLAN_AGAIN.has(error.code)) {
      await this._renew();
    }
    // A plan is sent once: what was refused needs another, what may have happened a look at the list.
    this._sendError = error;
    if (!PLAN_AGAIN.has(error.code)) {
      this._stopPlanning();
    }
  }

  private async _renew(): Promise<void> {
    await this.plan();
    this._isRenewed = true;
    this._emit();
  }

  private _touch(): void {
    this._isTouched = true;
    this._sent = this._sendError = null;
    this.lists.follow(this._spec());
    this.planSoon();
  }

  private _stopPlanning(): void {
    if (this._timer !== null) {
      clearTimeout(this._timer);
      this._timer = null;
    }
    this._request?.abort();
    this._request = this._planned = null;
    this._isPlanning = this._isAgreed = this._isRenewed = false;
    this._words = '';
  }

  private _spec(): JSONObject {
    return this._fields ? toSpec(this._fields.schema, this._data) : {};
  }

  private _newLists(lookUps: Record<string, ILookUp>): ChoiceLists {
    const lists = new ChoiceLists({ api: this._options.api, account: this._account, lookUps });
    lists.changed.connect(this._emit, this);
    return lists;
  }

  private _emit(): void {
    if (!this._isDisposed) {
      this._changed.emit();
    }
  }

  private readonly _options: IDraftOptions;
  private readonly _now: () => number;
  private readonly _changed = new Signal<this, void>(this);
  private readonly _delivered = new Signal<this, void>(this);
  private _account: string;
  private _fields: IFormFields | null = null;
  private _loadError: ApiError | null = null;
  private _name = '';
  private _maxHours = '';
  private _data: JSONObject = {};
  private _isTouched = false;
  private _timer: ReturnType<typeof setTimeout> | null = null;
  private _request: AbortController | null = null;
  private _isPlanning = false;
  private _planned: IPlanned | null = null;
  private _plannedAt = 0;
  private _planError: ApiError | null = null;
  private _isAgreed = false;
  private _isRenewed = false;
  private _words = '';
  private _isSending = false;
  private _sent: ISent | null = null;
  private _sendError: ApiError | null = null;
  private _isDisposed = false;
}
